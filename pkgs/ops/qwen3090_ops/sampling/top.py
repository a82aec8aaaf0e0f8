"""The few largest of wide rows: DFlash2's candidates, with neither a sort nor a CUDA compiler."""

import torch
import triton

from qwen3090_ops.sampling.kernels import group_maxima_kernel, top_kernel
from qwen3090_ops.sampling.limits import MAX_K
from qwen3090_ops.sampling.truncate import launch_for


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
    by = launch_for(rows)
    groups = triton.cdiv(vocab, by.group)
    capacity = MAX_K * by.group
    maxima = scores.new_empty((rows, groups), dtype=torch.float32)
    ids = scores.new_empty((rows, groups), dtype=torch.int32)
    list_values = scores.new_empty((rows, capacity + MAX_K), dtype=torch.float32)
    list_columns = scores.new_empty(list_values.shape, dtype=torch.int32)
    stride = scores.stride(0)
    group_maxima_kernel[(rows, triton.cdiv(groups, by.scan_tile))](
        scores,
        stride,
        maxima,
        vocab,
        groups,
        GROUP=by.group,
        TILE=by.scan_tile,
        num_warps=by.scan_warps,
    )
    top_kernel[(rows,)](
        scores,
        stride,
        maxima,
        ids,
        list_values,
        list_columns,
        values,
        columns,
        k,
        vocab,
        groups,
        GROUP=by.group,
        GROUPS_PADDED=max(MAX_K, triton.next_power_of_2(groups)),
        TILE=by.cut_tile,
        MAX_K=MAX_K,
        CAPACITY=capacity,
        num_warps=by.cut_warps,
    )
    return values, columns
