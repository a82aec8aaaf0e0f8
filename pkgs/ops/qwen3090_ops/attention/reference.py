"""What the attention kernels must compute, in plain torch: for tests."""

import torch


def attend(
    q: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
    starts: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Return the causal attention [tokens, query heads, dim] of each request's last tokens, fp32.

    Args:
        q: [tokens, query heads, dim]; query head h belongs to KV head h // (query / KV heads).
        key_cache: [blocks, block size, KV heads, dim], any strides; value_cache alike.
        table: int32 [requests, blocks a request]: which block holds which part of a request.
        lengths: int32 [requests]: tokens of each request in the cache, the new ones included.
        starts: int32 [requests + 1]: where each request's tokens begin in q. With n new tokens and
            length L, token i sits at position L - n + i and sees that position and all before it.
        scale: multiplies q·k.
    """
    group = q.shape[1] // key_cache.shape[2]
    out = torch.zeros(q.shape, dtype=torch.float32)
    for request, length in enumerate(lengths.tolist()):
        begin, end = starts[request : request + 2].tolist()
        places = torch.arange(length)
        blocks = table[request][places // key_cache.shape[1]].long()
        keys = key_cache[blocks, places % key_cache.shape[1]].float()
        values = value_cache[blocks, places % key_cache.shape[1]].float()
        for index in range(begin, end):
            seen = length - (end - begin) + (index - begin) + 1
            k = keys[:seen].repeat_interleave(group, dim=1)
            v = values[:seen].repeat_interleave(group, dim=1)
            scores = torch.einsum("hd,shd->hs", q[index].float(), k) * scale
            out[index] = torch.einsum("hs,shd->hd", scores.softmax(dim=-1), v)
    return out
