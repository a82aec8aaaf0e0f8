"""Symmetric group-128 quantization of row blocks, in the compressed-tensors packed layout.

The scale that divides the weights is the one that is stored. A scale rounded to fp16 or bf16 is off
by up to 2^-12 or 2^-9 of its value; dividing by the unrounded one would add that times 127 (a
quarter of a step in bf16) to the error of the largest weights. With the stored scale the error of
every weight is at most half a step. Where rounding down would push the largest weight past the
last code, the scale is the next larger representable number, so nothing is ever clipped; a group of
zeros gets the smallest scale at or above 1e-10 that its dtype can hold, and codes of zero.

All arithmetic is IEEE fp32, elementwise: the result does not depend on CPU, block size or threads.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3090_prepare.errors import PrepareError

GROUP = 128
FLOOR = np.float32(1e-10)
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint16]
Floats = NDArray[np.float32]


def to_float32(raw: NDArray[Any], dtype: str) -> Floats:
    """Return a fresh fp32 copy of BF16 (as uint16), F16 (as uint16) or F32 (as float32) data."""
    if dtype == "BF16":
        wide = raw.astype(np.uint32)
        wide <<= np.uint32(16)
        return wide.view(np.float32)
    if dtype == "F16":
        return raw.view(np.float16).astype(np.float32)
    return np.array(raw, dtype=np.float32)


def round_scale(exact: Floats, dtype: str) -> Words:
    """Round positive fp32 to nearest even ``F16`` or ``BF16`` bit patterns; never to zero."""
    if dtype == "F16":
        bits = exact.astype(np.float16).view(np.uint16)
    else:
        wide = exact.view(np.uint32)
        bits = ((wide + (0x7FFF + ((wide >> 16) & 1))) >> 16).astype(np.uint16)
    return np.maximum(bits, np.uint16(1))


def quantize_rows(weights: Floats, bits: int, scale_dtype: str) -> tuple[Bytes, Words]:
    """Quantize rows; ``weights`` (fp32 [rows, in], in a multiple of 128) is overwritten.

    Returns:
        The packed bytes, uint8 [rows, in * bits / 8] (four of them are one little-endian int32 of
        ``weight_packed``), and the bit patterns of the scales, uint16 [rows, in / 128].

    Raises:
        PrepareError: a weight is NaN or infinite, or a scale does not fit ``scale_dtype``; the
            message starts with ``row N`` (counted from the first row of ``weights``).
    """
    rows, width = weights.shape
    top = np.float32(2 ** (bits - 1) - 1)
    groups = weights.reshape(-1, GROUP)
    scratch = np.abs(groups)
    largest = scratch.max(axis=1)
    _check_range(largest, top, width // GROUP, scale_dtype)
    scales = round_scale(np.maximum(largest / top, FLOOR), scale_dtype)
    # One unit more where the largest weight would round past the last code (the product is exact).
    scales += largest >= (top + np.float32(0.5)) * to_float32(scales, scale_dtype)
    np.divide(groups, to_float32(scales, scale_dtype)[:, None], out=scratch)
    # Adding 1.5 * 2^23 rounds to nearest even; the low byte of the sum is then the offset code.
    scratch += np.float32(12582912 + 2 ** (bits - 1))
    codes = scratch.view(np.uint32).astype(np.uint8)
    if bits == 4:
        codes = codes[:, 0::2] | (codes[:, 1::2] << np.uint8(4))
    return codes.reshape(rows, width * bits // 8), scales.reshape(rows, width // GROUP)


def _check_range(largest: Floats, top: np.float32, groups_per_row: int, scale_dtype: str) -> None:
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest))[0]) // groups_per_row
        raise PrepareError(f"row {row} holds a NaN or an infinity")
    if scale_dtype == "F16" and float(largest.max(initial=0.0)) > 65504.0 * float(top):
        row = int(np.argmax(largest)) // groups_per_row
        raise PrepareError(f"row {row} holds {largest.max():g}: its scale does not fit float16")


def dequantize_rows(packed: Bytes, scales: Words, bits: int, scale_dtype: str) -> Floats:
    """Invert :func:`quantize_rows`: (code - 2^(bits-1)) * scale, fp32 [rows, in]."""
    rows = packed.shape[0]
    if bits == 4:
        codes = np.stack([packed & np.uint8(15), packed >> np.uint8(4)], axis=-1)
    else:
        codes = packed
    values = codes.reshape(-1, GROUP).astype(np.float32) - np.float32(2 ** (bits - 1))
    values *= to_float32(scales.reshape(-1), scale_dtype)[:, None]
    return values.reshape(rows, -1)
