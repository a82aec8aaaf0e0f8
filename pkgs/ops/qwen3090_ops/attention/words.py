"""Triton helpers of the quantized caches: words to values, steps of a page."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl

PARTS = ["table", "lengths", "starts"]
"""Arguments that are parts of a batch's tensors, from any row on: a kernel that was specialised on
their alignment would be compiled anew while serving."""


@triton.jit
def steps_of(length, PAGE: tl.constexpr, TILE: tl.constexpr):
    """Return how many tiles ``length`` cached tokens take when no tile spans two pages."""
    return length // PAGE * ((PAGE + TILE - 1) // TILE) + tl.cdiv(length % PAGE, TILE)


@triton.jit
def both(even, odd):
    """Return [a, 2 b] whose last dimension takes turns between two [a, b]."""
    A: tl.constexpr = even.shape[0]
    B: tl.constexpr = even.shape[1]
    return tl.join(even, odd).reshape(A, 2 * B)


@triton.jit
def halves(pair):
    """Return fp16 [a, 2 b] of words [a, b] that hold two of them, the lower one first."""
    low = pair.to(tl.int16).to(tl.float16, bitcast=True)
    return both(low, (pair >> 16).to(tl.int16).to(tl.float16, bitcast=True))


@triton.jit
def unpack(words, VALUES: tl.constexpr):
    """Return fp16 [a, VALUES b] of words [a, b]: 384 + signed byte, or 16 + nibble.

    In the order of ``unpacked_from``: two values at a time, in place in the significands of 256 or
    of 16, by a shift and a logical instruction, where a conversion from integers is slow. Exact.
    The bases are small, since products with them are subtracted again.
    """
    if VALUES == 4:
        # 0x5C00 is 256; the byte's sign is flipped
        even, odd = ((words << 2) & 0x03FC03FC), ((words >> 6) & 0x03FC03FC)
        pairs = both(even ^ 0x5E005E00, odd ^ 0x5E005E00)
    else:
        # 0x4C00 is 16; nibbles 0 and 4 first
        even = both((words << 6) & 0x03C003C0, (words >> 2) & 0x03C003C0)
        odd = both((words << 2) & 0x03C003C0, (words >> 6) & 0x03C003C0)
        pairs = both(even | 0x4C004C00, odd | 0x4C004C00)
    return halves(pairs)


@triton.jit
def unpacked_from(lane, VALUES: tl.constexpr):
    """Return which value ``unpack`` puts at ``lane``: those 16 bits apart are neighbours."""
    if VALUES == 1:
        return lane
    HALF: tl.constexpr = VALUES // 2
    return lane // VALUES * VALUES + lane % 2 * HALF + lane // 2 % HALF


@triton.jit
def base_and_scale(bits, VALUES: tl.constexpr):
    """Return what ``unpack`` has added to a token's integers, and their scale, of the scale's bits.

    An int4 scale's last 4 bits are the zero point.
    """
    if VALUES == 4:
        return tl.full(bits.shape, 384.0, tl.float32), bits.to(tl.float32, bitcast=True)
    return ((bits & 15) + 16).to(tl.float32), (bits & -16).to(tl.float32, bitcast=True)
