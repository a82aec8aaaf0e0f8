"""The few largest of wide rows: DFlash2's candidates, with neither a sort nor a CUDA compiler."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import torch
import triton
import triton.language as tl

from qwen3090_ops.sampling.find import find, load_groups
from qwen3090_ops.sampling.limits import MAX_K
from qwen3090_ops.sampling.scanned import scan


@triton.jit
def top_kernel(
    logits,  # [rows, vocab], any float type
    logits_stride,
    maxima,  # fp32 [rows, groups]
    ids,  # int32 scratch [rows, groups]
    list_values,  # fp32 scratch [rows, CAPACITY + MAX_K]
    list_columns,  # int32 scratch [rows, CAPACITY + MAX_K]
    values,  # fp32 [rows, k]
    columns,  # int64 [rows, k]
    k,
    vocab,
    groups,
    GROUP: tl.constexpr,
    GROUPS_PADDED: tl.constexpr,
    TILE: tl.constexpr,
    MAX_K: tl.constexpr,
    CAPACITY: tl.constexpr,
):
    """Write the k largest values of each row in falling order, copies by column; grid (rows,)."""
    row = tl.program_id(0).to(tl.int64)
    row_logits = logits + row * logits_stride
    ids += row * groups
    list_values += row * (CAPACITY + MAX_K)
    list_columns += row * (CAPACITY + MAX_K)
    values += row * k
    columns += row * k
    bound, _copies, length, start, num_groups = find(
        row_logits, maxima + row * groups, ids, list_values, list_columns, k, vocab, groups,
        GROUP, GROUPS_PADDED, TILE, MAX_K, CAPACITY,
    )  # fmt: skip
    place = tl.arange(0, MAX_K)
    listed = place < length
    value = tl.load(list_values + start + place, mask=listed, other=float("-inf"))
    column = tl.load(list_columns + start + place, mask=listed, other=0)
    ahead = (value[None, :] > value[:, None]) | (
        (value[None, :] == value[:, None]) & (column[None, :] < column[:, None])
    )
    rank = tl.sum((ahead & listed[None, :]).to(tl.int32), axis=1)
    tl.store(values + rank, value, mask=listed)
    tl.store(columns + rank, column.to(tl.int64), mask=listed)
    # Then copies of the k-th largest; none when it is -inf, and the rest is -inf at column 0.
    rest = (place >= length) & (place < k)
    tl.store(values + place, tl.zeros([MAX_K], tl.float32) + bound, mask=rest)
    if bound == float("-inf"):
        tl.store(columns + place, tl.zeros([MAX_K], tl.int64), mask=rest)
    else:
        seen = 0
        for base in range(0, num_groups, TILE):
            x, at = load_groups(row_logits, ids, base, num_groups, vocab, GROUP, TILE)
            equal = (x == bound).to(tl.int32)
            to = length + seen + tl.cumsum(equal, axis=0) - 1
            tl.store(columns + to, at.to(tl.int64), mask=(equal > 0) & (to < k))
            seen += tl.sum(equal, axis=0)


def top(scores: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the k largest values of each row and their columns, in falling order.

    Equal values come in the order of columns. NaN counts as -inf; where fewer than k values are
    above -inf, the rest is -inf at column 0. Deterministic, and safe inside a CUDA graph.

    Args:
        scores: float32, bfloat16 or float16 [rows, vocab].
        k: 1 .. MAX_K, at most vocab.

    Returns:
        float32 [rows, k] and int64 [rows, k].

    Raises:
        ValueError: k is out of range.
    """
    rows, vocab = scores.shape
    if not 1 <= k <= min(MAX_K, vocab):
        raise ValueError(f"top-k of {k} of {vocab} columns: 1 to {min(MAX_K, vocab)} can be found")
    if scores.stride(1) != 1:
        scores = scores.contiguous()
    values = scores.new_empty((rows, k), dtype=torch.float32)
    columns = scores.new_empty((rows, k), dtype=torch.int64)
    if rows == 0:
        return values, columns
    scanned = scan(scores)
    top_kernel[(rows,)](
        scores,
        scores.stride(0),
        scanned.maxima,
        scanned.ids,
        scanned.list_values,
        scanned.list_columns,
        values,
        columns,
        k,
        vocab,
        scanned.groups,
        GROUP=scanned.by.group,
        GROUPS_PADDED=max(MAX_K, triton.next_power_of_2(scanned.groups)),
        TILE=scanned.by.cut_tile,
        MAX_K=MAX_K,
        CAPACITY=scanned.capacity,
        num_warps=scanned.by.cut_warps,
    )
    return values, columns
