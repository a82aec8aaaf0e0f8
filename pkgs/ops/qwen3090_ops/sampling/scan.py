"""The two passes over whole rows: the maxima of groups of columns, and -inf below a row's cut.

A row is read once in full. Group maxima give a lower bound of the k-th largest value, which fewer
than k groups exceed, so only those groups are read again; the mask reads the groups that can keep
something.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import triton
import triton.language as tl

from qwen3090_ops.sampling.order import clean


@triton.jit
def group_maxima_kernel(
    logits,  # [rows, vocab], any float type
    logits_stride,
    maxima,  # fp32 [rows, groups]
    vocab,
    groups,
    GROUP: tl.constexpr,
    TILE: tl.constexpr,  # groups of one program
):
    """Write the largest clean value of each group of columns; grid (rows, tiles)."""
    row = tl.program_id(0).to(tl.int64)
    group = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(
        logits + row * logits_stride + column,
        mask=column < vocab,
        other=float("-inf"),
    )
    tl.store(maxima + row * groups + group, tl.max(clean(x), axis=1), mask=group < groups)


@triton.jit
def mask_kernel(
    logits,  # [rows, vocab], any float type, written
    logits_stride,
    maxima,  # fp32 [rows, groups]
    cut_values,  # fp32 [rows]
    cut_columns,  # int32 [rows]; -1: leave the row alone
    vocab,
    groups,
    GROUP: tl.constexpr,
    TILE: tl.constexpr,
):
    """Write -inf below each row's cut; grid (rows, tiles). Reads the groups that reach it only."""
    row = tl.program_id(0).to(tl.int64)
    cut_column = tl.load(cut_columns + row)
    if cut_column < 0:
        return
    cut_value = tl.load(cut_values + row)
    group = tl.program_id(1) * TILE + tl.arange(0, TILE)
    maximum = tl.load(maxima + row * groups + group, mask=group < groups, other=float("-inf"))
    column = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    at = logits + row * logits_stride + column
    inside = column < vocab
    read = inside & (maximum >= cut_value)[:, None]
    x = tl.load(at, mask=read, other=float("-inf"))
    value = x.to(tl.float32)
    stays = (value > cut_value) | ((value == cut_value) & (column >= cut_column))
    tl.store(at, tl.where(stays, value, float("-inf")).to(x.dtype), mask=inside)
