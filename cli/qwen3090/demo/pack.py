"""Write linears in compressed-tensors' ``pack-quantized`` layout, group 128, symmetric.

The body's scales are signed as the published checkpoint's are: the largest weight of a group
is met by the code -8, so about half of the scales are negative.
"""

import numpy as np
from numpy.typing import NDArray

from qwen3090.demo.fill import Array
from qwen3090.demo.inventory import GROUP

Packed = tuple[NDArray[np.int32], NDArray[np.float16], NDArray[np.int64]]
_SMALLEST = 2.0**-14  # smallest normal fp16: scale of a group of zeros


def pack_codes(codes: NDArray[np.int64], bits: int) -> NDArray[np.int32]:
    """Pack signed codes [rows, cols] along cols, as code + 2^(bits-1), low bits first."""
    per_word = 32 // bits
    stored = (codes + 2 ** (bits - 1)).astype(np.uint32)
    words = stored.reshape(len(codes), -1, per_word)
    shifts = (np.arange(per_word) * bits).astype(np.uint32)
    packed: NDArray[np.int32] = np.bitwise_or.reduce(words << shifts, axis=2).view(np.int32)
    return packed


def signed_int4(weight: Array) -> Packed:
    """Quantize [rows, cols] with signed scales; return (packed, fp16 scales, shape)."""
    groups = _groups(weight)
    peak = np.take_along_axis(groups, np.abs(groups).argmax(2)[..., None], 2)[..., 0]
    return _quantize(weight, peak / np.float32(-8.0))


def plain_int4(weight: Array) -> Packed:
    """Quantize [rows, cols] with scales max|w| / 7; return (packed, fp16 scales, shape)."""
    return _quantize(weight, np.abs(_groups(weight)).max(2) / np.float32(7.0))


def _groups(weight: Array) -> Array:
    return weight.reshape(len(weight), -1, GROUP)


def _quantize(weight: Array, exact: Array) -> Packed:
    small = np.abs(exact) < _SMALLEST
    scale = np.where(small, np.copysign(_SMALLEST, exact), exact).astype(np.float16)
    steps = np.rint(_groups(weight) / scale.astype(np.float32)[..., None])
    codes = np.clip(steps, -8, 7).astype(np.int64).reshape(weight.shape)
    return pack_codes(codes, 4), scale, np.array(weight.shape, dtype=np.int64)
