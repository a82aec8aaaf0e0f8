"""Attention of a prompt's chunk over a quantized cache: FlashAttention over parts of its context.

The context is unpacked to a bounded scratch, part after part; FlashAttention computes each part
without a mask, the new tokens causally from their raw keys and values, and the log-sum-exp of each
row joins the results (section 2.2 of https://www.arxiv.org/pdf/2501.01005). Over an int4 cache the
parts are computed in its rotated space, with rotated queries, and turned back once.

Temporary memory, for 2,048 new tokens of 24 heads of 256 in bf16: four tensors of 25 MB (rotated
queries, one part, all before it, both together). The step's MLP takes 214 MB of 17,408 channels.
"""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from vllm.v1.attention.ops.merge_attn_states import merge_attn_states

from qwen3090_ops.attention.batches import Prompt
from qwen3090_ops.attention.formats import Format, rotate, unrotate
from qwen3090_ops.attention.unpack import unpack

CONTEXT_TOKENS = 8_192
"""Tokens of context that are unpacked at a time.

Their K and V take 33,554,432 bytes with 4 KV heads of 256 in bf16, and joining the results of one
more part 0.1 ms on an RTX 3090 (75 MB), next to 5.8 ms of attention over it.
"""


class Flash(Protocol):
    """FlashAttention with variable lengths; returns the log-sum-exp, fp32 [heads, tokens].

    vLLM's flash_attn_varlen_func returns it in this layout with versions 2 and 3. Version 2 gives
    an empty row +inf (v1/attention/ops/triton_merge_attn_states.py); no row here is empty.
    """

    def __call__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        *,
        starts: torch.Tensor,
        ends: torch.Tensor,
        longest: int,
        most: int,
        causal: bool,
    ) -> torch.Tensor:
        """Write the attention of q [tokens, heads, dim] over k, v [cached, KV heads, dim].

        Args:
            q, k, v, out: the last dimension contiguous.
            starts, ends: int32 [requests + 1]: where each request begins in q, and in k.
            longest, most: most tokens of a request in q, and in k.
            causal: whether a request's last tokens of q and k stand at the same position.
        """


@dataclass(frozen=True)
class Context:
    """Unpacked keys and values [tokens, KV heads, dim] of one layer at a time; made once."""

    keys: torch.Tensor
    values: torch.Tensor

    @classmethod
    def make(
        cls, kv_heads: int, dim: int, dtype: torch.dtype, device: torch.device, tokens: int
    ) -> "Context":
        """Allocate room for ``tokens`` cached tokens."""
        shape = (tokens, kv_heads, dim)
        return cls(*(torch.empty(shape, dtype=dtype, device=device) for _ in range(2)))


def prefill(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cache: torch.Tensor,
    table: torch.Tensor,
    out: torch.Tensor,
    *,
    prompt: Prompt,
    context: Context,
    flash: Flash,
    form: Format,
) -> None:
    """Write the causal attention of one prompt's new tokens into ``out``.

    Args:
        q: bf16 or fp16 [tokens, query heads, dim] of the whole batch; k, v with the KV heads.
        cache: int32 words of the layer (formats.words).
        table: int32 [requests, blocks a request].
        out: [tokens, query heads, dim], contiguous.
        prompt: which tokens, and the parts of their context.
        context: room for the longest part.
        flash: FlashAttention.
        form: how the cache is packed.
    """
    tokens = slice(prompt.begin, prompt.stop)
    q, k, v, out = q[tokens], k[tokens], v[tokens], out[tokens]
    among = partial(
        flash,
        q,
        k,
        v,
        starts=prompt.starts,
        ends=prompt.starts,
        longest=prompt.longest,
        most=prompt.longest,
        causal=True,
    )
    if not prompt.chunks:
        among(out=out)
        return
    asked = rotate(q) if form.rotated else q
    old, old_sum = _over_context(asked, cache, table, prompt, context, flash, form)
    old = unrotate(old) if form.rotated else old
    new = torch.empty_like(out)
    new_sum = among(out=new)
    merge_attn_states(out, old, old_sum, new, new_sum)


def _over_context(
    q: torch.Tensor,
    cache: torch.Tensor,
    table: torch.Tensor,
    prompt: Prompt,
    context: Context,
    flash: Flash,
    form: Format,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return attention [tokens, heads, dim] and log-sum-exp [heads, tokens] over all parts."""
    shape = q.shape
    found: tuple[torch.Tensor, torch.Tensor] | None = None
    for chunk in prompt.chunks:
        unpack(
            cache,
            table,
            prompt.row,
            chunk.first,
            chunk.count,
            context.keys,
            context.values,
            form,
        )
        part = q.new_empty(shape)
        part_sum = flash(
            q,
            context.keys[: chunk.count],
            context.values[: chunk.count],
            part,
            starts=prompt.starts,
            ends=chunk.ends,
            longest=prompt.longest,
            most=chunk.count,
            causal=False,
        )
        if found is None:
            found = part, part_sum
            continue
        # not in place: the kernel's threads read what another of them would have written
        whole, whole_sum = torch.empty_like(part), torch.empty_like(part_sum)
        merge_attn_states(whole, *found, part, part_sum, whole_sum)
        found = whole, whole_sum
    assert found is not None
    return found
