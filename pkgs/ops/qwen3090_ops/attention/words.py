"""Triton helpers of the quantized caches: words to values, steps of a page."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl


@triton.jit
def steps_of(length, PAGE: tl.constexpr, TILE: tl.constexpr):
    """Return how many tiles ``length`` cached tokens take when no tile spans two pages."""
    return length // PAGE * ((PAGE + TILE - 1) // TILE) + tl.cdiv(length % PAGE, TILE)


@triton.jit
def byte_of(word, PLACE: tl.constexpr, TYPE: tl.constexpr):
    """Return a signed byte of words whose bytes have their top bits flipped, exact in TYPE."""
    # 2**23 + byte in fp32: one permutation of bytes, where an int-to-float conversion is slow
    biased = ((word >> (8 * PLACE)) & 0xFF) | 0x4B000000
    return (biased.to(tl.float32, bitcast=True) - 8388736.0).to(TYPE)


@triton.jit
def both(even, odd):
    """Return [a, 2 b] whose last dimension takes turns between two [a, b]."""
    A: tl.constexpr = even.shape[0]
    B: tl.constexpr = even.shape[1]
    return tl.join(even, odd).reshape(A, 2 * B)


@triton.jit
def nibbles_of(word, PLACE: tl.constexpr, TYPE: tl.constexpr):
    """Return 128 + nibble PLACE and 128 + nibble PLACE + 4 of words by turns, exact in TYPE."""
    # nibble | 0x4300 is 128 + nibble in bf16; two of them, 16 bits apart, at once
    pair = ((word >> (4 * PLACE)) & 0x000F000F) | 0x43004300
    low = pair.to(tl.int16).to(tl.bfloat16, bitcast=True)
    high = (pair >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    return both(low.to(TYPE), high.to(TYPE))


@triton.jit
def unpack(words, VALUES: tl.constexpr, TYPE: tl.constexpr):
    """Return [a, VALUES b] of words [a, b], in order: signed bytes, or 128 + nibbles."""
    if VALUES == 4:
        flipped = words ^ -2139062144  # 0x80808080
        even = both(byte_of(flipped, 0, TYPE), byte_of(flipped, 2, TYPE))
        odd = both(byte_of(flipped, 1, TYPE), byte_of(flipped, 3, TYPE))
    else:
        even = both(nibbles_of(words, 0, TYPE), nibbles_of(words, 2, TYPE))
        odd = both(nibbles_of(words, 1, TYPE), nibbles_of(words, 3, TYPE))
    return both(even, odd)
