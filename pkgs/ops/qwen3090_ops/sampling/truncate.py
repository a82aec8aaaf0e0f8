"""Top-k and top-p without sorting, for rows whose top-k is small; no wait for the GPU."""

import torch
import triton

from qwen3090_ops.sampling.cuts import cuts_kernel
from qwen3090_ops.sampling.limits import MAX_K
from qwen3090_ops.sampling.scan import mask_kernel
from qwen3090_ops.sampling.scanned import FEW, Launch, scan


def truncate(
    logits: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor | None,
    *,
    temperature: torch.Tensor | None = None,
    states: torch.Tensor | None = None,
    launch: Launch | None = None,
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
        launch: how to launch the kernels; None: by the number of rows.

    Returns:
        The truncated logits [rows, vocab].
    """
    rows, vocab = logits.shape
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    if rows == 0:
        return logits
    scanned = scan(logits, launch)
    by, stride = scanned.by, logits.stride(0)
    cut_values = logits.new_empty(rows, dtype=torch.float32)
    cut_columns = logits.new_empty(rows, dtype=torch.int32)
    cuts_kernel[(rows,)](
        logits,
        stride,
        scanned.maxima,
        scanned.ids,
        scanned.list_values,
        scanned.list_columns,
        cut_values,
        cut_columns,
        top_k,
        top_p,
        temperature,
        states,
        vocab,
        scanned.groups,
        HAS_P=top_p is not None,
        HAS_TEMPERATURE=temperature is not None,
        HAS_STATES=states is not None,
        GROUP=by.group,
        GROUPS_PADDED=max(MAX_K, triton.next_power_of_2(scanned.groups)),
        TILE=by.cut_tile,
        MAX_K=MAX_K,
        CAPACITY=scanned.capacity,
        num_warps=by.cut_warps,
    )
    mask_kernel[scanned.grid](
        logits,
        stride,
        scanned.maxima,
        cut_values,
        cut_columns,
        vocab,
        scanned.groups,
        GROUP=by.group,
        TILE=by.scan_tile,
        num_warps=by.scan_warps,
    )
    return logits


def warm_up(vocab: int, device: torch.device) -> None:
    """Compile what the target's truncation launches, so that no request waits for it.

    Does nothing where kernels are not compiled (on a CPU).
    """
    if device.type != "cuda":
        return
    for rows in (1, FEW + 1):
        states = torch.arange(rows, dtype=torch.int32, device=device)
        top_k = torch.ones(rows, dtype=torch.int32, device=device)
        for top_p in (None, torch.ones(rows, device=device)):
            truncate(torch.zeros(rows, vocab, device=device), top_k, top_p, states=states)
