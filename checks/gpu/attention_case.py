"""One batch of verify steps over a cache of one format, for attention.py: made, computed, judged.

The shape of the published model: 24 query and 4 KV heads of 256. A bf16 cache is packed K|V; an
int8 or int4 one is written by vLLM's own kernels, in blocks of the profiles' sizes. Blocks stand in
random order.
"""

from typing import Any

import torch
from qwen3090_ops.attention import reference
from qwen3090_ops.attention.backend import multiprocessors
from qwen3090_ops.attention.formats import FORMATS, INT8, Format, rotate, unrotate, words
from qwen3090_ops.attention.quantized import attend_words
from qwen3090_ops.attention.scratch import Scratch
from qwen3090_ops.attention.split import Shape, attend

HEADS, KV_HEADS, DIM = 24, 4, 256
SCALE = DIM**-0.5
PAGES = {"bf16": 448, "int8": 864, "int4": 1_696}
"""Tokens of a block in the profiles fast, long and huge."""
CHUNK = 16_384  # tokens that vLLM's store kernels write at once


class Case:
    """``requests`` requests of ``length`` cached tokens, ``tokens`` of them new."""

    def __init__(
        self, name: str, length: int, tokens: int, requests: int, page: int | None = None
    ) -> None:
        self.name, self.length, self.tokens, self.requests = name, length, tokens, requests
        self.format: Format | None = FORMATS.get(f"{name}_per_token_head")
        self.page = page or PAGES[name]
        blocks = -(-length // self.page)
        order = torch.randperm(requests * blocks, device="cuda") + 1
        self.table = order.view(requests, blocks).to(torch.int32)
        self.lengths = torch.full((requests,), length, dtype=torch.int32, device="cuda")
        self.starts = torch.arange(requests + 1, dtype=torch.int32, device="cuda") * tokens
        self.q = torch.randn(requests * tokens, HEADS, DIM, device="cuda", dtype=torch.bfloat16)
        self.out = torch.full_like(self.q, float("nan"))
        self.fill(requests * blocks + 1)
        self.scratch = Scratch.make(
            requests=requests,
            tokens=tokens,
            heads=HEADS,
            kv_heads=KV_HEADS,
            dim=DIM,
            multiprocessors=multiprocessors(),
            device=self.q.device,
        )

    def fill(self, blocks: int) -> None:
        """Make the cache; every place of every block holds random keys and values."""
        if self.format is None:
            shape = (blocks, self.page, KV_HEADS, 2 * DIM)
            packed = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
            self.key, self.value = packed[..., :DIM], packed[..., DIM:]
            return
        from vllm.v1.attention.backends.triton_attn import TritonAttentionImpl as Impl

        kind = torch.int8 if self.format is INT8 else torch.uint8
        size = 2 * (4 * DIM // self.format.values + 4)
        cache = torch.zeros(blocks, self.page, KV_HEADS, size, device="cuda", dtype=kind)
        cache = cache.transpose(1, 2)
        impl: Any = Impl(HEADS, DIM, SCALE, KV_HEADS, None, None, self.format.cache_dtype)
        for part in torch.arange(blocks * self.page, device="cuda").split(CHUNK):
            shape = (2, len(part), KV_HEADS, DIM)
            key, value = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
            impl.do_kv_cache_update(None, key, value, cache, part)
        self.words = words(cache)

    def ours(self, shape: Shape | None = None) -> None:
        batch = self.table, self.lengths, self.starts, self.out
        given: dict[str, Any] = {
            "scale": SCALE,
            "tokens": self.tokens,
            "scratch": self.scratch,
            "multiprocessors": multiprocessors(),
            "shape": shape,
        }
        if self.format is None:
            attend(self.q, self.key, self.value, *batch, **given)
        else:
            attend_words(self.q, self.words, *batch, **given, format=self.format)

    def flash(self) -> None:
        """Compute it with FlashAttention-2: of a bf16 cache only."""
        from vllm.vllm_flash_attn import flash_attn_varlen_func

        flash_attn_varlen_func(
            q=self.q,
            k=self.key,
            v=self.value,
            out=self.out,
            cu_seqlens_q=self.starts,
            max_seqlen_q=self.tokens,
            seqused_k=self.lengths,
            max_seqlen_k=self.length,
            softmax_scale=SCALE,
            causal=True,
            block_table=self.table,
            fa_version=2,
        )

    def expected(self) -> torch.Tensor:
        """Return the attention over what the cache holds in fp64, [tokens, heads, dim]."""
        turned = self.format is not None and self.format.rotated
        q = rotate(self.q.double()) if turned else self.q.double()
        found = torch.empty(self.q.shape, dtype=torch.float64, device="cuda")
        for request in range(self.requests):
            length = int(self.lengths[request])
            place = torch.arange(length, device="cuda")
            block, row = self.table[request].long()[place // self.page], place % self.page
            if self.format is None:
                key, value = self.key[block, row], self.value[block, row]
            else:
                key, value = reference.dequantize(self.words[block, row][None], self.format)
                key, value = key[0], value[0]
            mine = slice(request * self.tokens, (request + 1) * self.tokens)
            heads = q[mine].view(self.tokens, KV_HEADS, HEADS // KV_HEADS, DIM)
            scores = torch.einsum("thgd,shd->hgts", heads, key.double()) * SCALE
            last = length - self.tokens + torch.arange(self.tokens, device="cuda")
            scores.masked_fill_(place[None] > last[:, None], float("-inf"))
            part = torch.einsum("hgts,shd->thgd", scores.softmax(-1), value.double())
            found[mine] = part.reshape(self.tokens, HEADS, DIM)
        return unrotate(found) if turned else found

    def error(self, expected: torch.Tensor) -> float:
        """Return ‖out − expected‖ / ‖expected‖."""
        return float((self.out.double() - expected).norm() / expected.norm())
