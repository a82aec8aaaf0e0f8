"""Top-k and top-p without sorting, for rows whose top-k is small; no wait for the GPU."""

import torch
import triton

from qwen3090_ops.sampling.kernels import cuts_kernel, group_maxima_kernel, mask_kernel
from qwen3090_ops.sampling.limits import GROUP, LIST_CAPACITY, MAX_K


def truncate(
    logits: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor | None,
    *,
    temperature: torch.Tensor | None = None,
    states: torch.Tensor | None = None,
) -> torch.Tensor:
    """Set to -inf what top-k and top-p remove.

    A row whose top-k is not in 1 .. MAX_K stays as it is.

    The kept set is that of a stable ascending sort, as in vLLM's ``apply_top_k_top_p_pytorch``: all
    copies of the k-th largest value stay; of the values in ascending order (copies in the order of
    columns) those are dropped whose cumulative probability is at most ``1 - top_p``; the last one
    always stays. NaN is never kept; a row whose largest value is +inf is cut by top-k alone.

    Safe inside a CUDA graph: everything about a row is read on the device.

    Args:
        logits: float32, bfloat16 or float16 [rows, vocab]; written in place when its columns are
            contiguous.
        top_k: int32 [states].
        top_p: float32 [states], or None for top-k alone.
        temperature: float32 [states]; top-p then looks at ``softmax(logits / temperature)``, while
            the logits stay undivided. 0 counts as 1 (a greedy row needs no top-p).
        states: int32 or int64 [rows]: where a row's parameters stand; a negative one leaves the
            row alone. None: row i has the parameters at i.

    Returns:
        The truncated logits [rows, vocab].
    """
    rows, vocab = logits.shape
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    if rows == 0:
        return logits
    groups = triton.cdiv(vocab, GROUP)
    maxima = logits.new_empty((rows, groups), dtype=torch.float32)
    ids = logits.new_empty((rows, groups), dtype=torch.int32)
    list_values = logits.new_empty((rows, LIST_CAPACITY + MAX_K), dtype=torch.float32)
    list_columns = logits.new_empty(list_values.shape, dtype=torch.int32)
    cut_values = logits.new_empty(rows, dtype=torch.float32)
    cut_columns = logits.new_empty(rows, dtype=torch.int32)
    stride = logits.stride(0)
    tile = 16 if rows <= 4 else 32
    grid = (rows, triton.cdiv(groups, tile))
    group_maxima_kernel[grid](
        logits, stride, maxima, vocab, groups, GROUP=GROUP, TILE=tile, num_warps=4
    )
    cuts_kernel[(rows,)](
        logits,
        stride,
        maxima,
        ids,
        list_values,
        list_columns,
        cut_values,
        cut_columns,
        top_k,
        top_p,
        temperature,
        states,
        vocab,
        groups,
        HAS_P=top_p is not None,
        HAS_TEMPERATURE=temperature is not None,
        HAS_STATES=states is not None,
        GROUP=GROUP,
        GROUPS_PADDED=max(MAX_K, triton.next_power_of_2(groups)),
        TILE=32,
        MAX_K=MAX_K,
        CAPACITY=LIST_CAPACITY,
        num_warps=8,
    )
    mask_kernel[grid](
        logits,
        stride,
        maxima,
        cut_values,
        cut_columns,
        vocab,
        groups,
        GROUP=GROUP,
        TILE=tile,
        num_warps=4,
    )
    return logits
