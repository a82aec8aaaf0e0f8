"""Dequantize compressed-tensors `pack-quantized` weights with torch alone, on any device.

Used where vLLM 0.28.0 has no kernel: the packed embedding and 8-bit linears on the CPU, and the
drafter's context projection, which needs dense rows before the weights are repacked. Layout:
`weight_packed` int32 [rows, columns * bits / 32], element i of a row in word i // (32 / bits) at
bit (i % (32 / bits)) * bits, stored as code + 2**(bits - 1); `weight_scale` [rows, groups].
"""

import torch

_BLOCK_ELEMENTS = 1 << 22  # float32 temporaries stay near 16 MiB


def pack_factor(bits: int) -> int:
    """Return how many codes one int32 holds.

    Raises:
        ValueError: ``bits`` is neither 4 nor 8.
    """
    if bits not in (4, 8):
        raise ValueError(f"packed weights have 4 or 8 bits, got {bits}")
    return 32 // bits


def bits_of(weight_packed: torch.Tensor, columns: int) -> int:
    """Return the bits of a packed weight [rows, words] whose rows hold ``columns`` elements.

    Raises:
        ValueError: no supported width makes the words hold exactly ``columns`` elements.
    """
    for bits in (4, 8):
        if weight_packed.shape[-1] * pack_factor(bits) == columns:
            return bits
    raise ValueError(
        f"weight_packed {tuple(weight_packed.shape)} does not hold rows of {columns} codes of "
        "4 or 8 bits; the weight is not in the checkpoint's layout"
    )


def unpack(weight_packed: torch.Tensor, bits: int) -> torch.Tensor:
    """Return the signed codes, int32 [rows, words * 32 / bits], of int32 [rows, words]."""
    factor = pack_factor(bits)
    shifts = torch.arange(0, 32, bits, dtype=torch.int32, device=weight_packed.device)
    codes = (weight_packed.unsqueeze(-1) >> shifts) & ((1 << bits) - 1)
    return (codes - (1 << (bits - 1))).reshape(
        *weight_packed.shape[:-1], weight_packed.shape[-1] * factor
    )


def _dequantize_block(
    weight_packed: torch.Tensor, weight_scale: torch.Tensor, bits: int
) -> torch.Tensor:
    """Return float32 [rows, columns]: code * scale of its group."""
    codes = unpack(weight_packed, bits).float()
    rows, columns = codes.shape
    groups = weight_scale.shape[-1]
    grouped = codes.view(rows, groups, columns // groups) * weight_scale.float().unsqueeze(-1)
    return grouped.view(rows, columns)


def _check(weight_packed: torch.Tensor, weight_scale: torch.Tensor, bits: int) -> int:
    if weight_packed.dtype != torch.int32 or weight_packed.dim() != 2:
        raise ValueError(
            "weight_packed must be int32 [rows, words], got "
            f"{weight_packed.dtype} {tuple(weight_packed.shape)}"
        )
    columns = weight_packed.shape[1] * pack_factor(bits)
    if (
        weight_scale.dim() != 2
        or weight_scale.shape[0] != weight_packed.shape[0]
        or weight_scale.shape[1] == 0
        or columns % weight_scale.shape[1]
    ):
        raise ValueError(
            f"weight_scale {tuple(weight_scale.shape)} does not fit "
            f"{weight_packed.shape[0]} rows of {columns} columns"
        )
    return columns


def dequantize(
    weight_packed: torch.Tensor, weight_scale: torch.Tensor, bits: int, dtype: torch.dtype
) -> torch.Tensor:
    """Return the dense weight.

    Args:
        weight_packed: int32 [rows, columns * bits / 32].
        weight_scale: floating point [rows, groups]; groups divides columns.
        bits: 4 or 8.
        dtype: of the result; products are made in float32 and rounded once.

    Returns:
        ``dtype`` [rows, columns] on the weight's device; temporaries stay near 32 MiB.

    Raises:
        ValueError: shapes, dtype or bits do not fit together.
    """
    columns = _check(weight_packed, weight_scale, bits)
    rows = weight_packed.shape[0]
    dense = torch.empty(rows, columns, dtype=dtype, device=weight_packed.device)
    step = max(1, _BLOCK_ELEMENTS // max(columns, 1))
    for start in range(0, rows, step):
        block = slice(start, start + step)
        dense[block] = _dequantize_block(weight_packed[block], weight_scale[block], bits)
    return dense


def gather_rows(
    ids: torch.Tensor, weight_packed: torch.Tensor, weight_scale: torch.Tensor, bits: int
) -> torch.Tensor:
    """Look rows up in a packed table: only the gathered rows are unpacked.

    Args:
        ids: integer [n], each in 0 .. rows - 1.
        weight_packed: int32 [rows, columns * bits / 32].
        weight_scale: [rows, groups]; its dtype is the result's.
        bits: 4 or 8.

    Returns:
        [n, columns] in the scale's dtype.

    Raises:
        ValueError: shapes, dtype or bits do not fit together.
        IndexError: an id lies outside the table.
    """
    columns = _check(weight_packed, weight_scale, bits)
    rows = torch.empty(ids.numel(), columns, dtype=weight_scale.dtype, device=weight_packed.device)
    step = max(1, _BLOCK_ELEMENTS // max(columns, 1))
    for start in range(0, ids.numel(), step):
        block = ids[start : start + step]
        rows[start : start + step] = _dequantize_block(
            weight_packed[block], weight_scale[block], bits
        )
    return rows


def context_rows(
    projection: torch.nn.Module, first_row: int, columns: int, dtype: torch.dtype
) -> torch.Tensor:
    """Return dense rows [first_row:] of a packed linear layer that was loaded but not repacked.

    Bits come from ``weight_packed`` and ``columns`` (the layer's input size), never from
    ``weight_shape``: in a fused layer that one remembers only the last shard loaded.

    Args:
        projection: a module with ``weight_packed`` and ``weight_scale`` in the checkpoint's layout.
        first_row: rows before it are left out (the query part of a fused QKV projection).
        columns: input size of the layer.
        dtype: of the result.

    Returns:
        ``dtype`` [rows - first_row, columns].

    Raises:
        ValueError: the weight was repacked already, or its shapes do not fit.
    """
    packed = projection.get_parameter("weight_packed").data
    scale = projection.get_parameter("weight_scale").data
    return dequantize(packed[first_row:], scale[first_row:], bits_of(packed, columns), dtype)
