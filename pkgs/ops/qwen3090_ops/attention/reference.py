"""What the attention kernels must compute, in plain torch: for tests."""

import torch

from qwen3090_ops.attention.formats import Format, rotate, unrotate


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


def dequantize(cache_words: torch.Tensor, form: Format) -> tuple[torch.Tensor, torch.Tensor]:
    """Return K and V, fp32 [blocks, block size, KV heads, dim], of a quantized cache as stored.

    Args:
        cache_words: int32 [blocks, block size, KV heads, 2 (dim / values + 1)], of formats.words.
        form: of the cache; int4 keys and values stay rotated.
    """
    half = cache_words.shape[-1] // 2
    found = []
    for side in (cache_words[..., :half], cache_words[..., half:]):
        bits = 32 // form.values
        shifts = torch.arange(0, 32, bits, device=side.device)
        values = (side[..., :-1, None] >> shifts) & ((1 << bits) - 1)
        scale = side[..., -1:]
        if form.rotated:
            values = values - (scale & 15)[..., None]
            scale = scale & -16
        else:
            values = values - ((values & 128) << 1)
        found.append(values.flatten(-2).float() * scale.contiguous().view(torch.float32))
    return found[0], found[1]


def attend_words(
    q: torch.Tensor,
    cache_words: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
    starts: torch.Tensor,
    scale: float,
    form: Format,
) -> torch.Tensor:
    """Return ``attend`` over a quantized cache, in the model's space; arguments as there."""
    key, value = dequantize(cache_words, form)
    if form.rotated:
        out = attend(rotate(q.float()), key, value, table, lengths, starts, scale)
        return unrotate(out)
    return attend(q, key, value, table, lengths, starts, scale)
