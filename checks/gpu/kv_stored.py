"""Keys and values in a paged cache of one format, written and read as vLLM does and as we do."""

from typing import Any

import torch
from kv_samples import DIM, HEADS, KV_HEADS, SCALE, TOKENS, Sample
from qwen3090_ops.attention.formats import FORMATS, Format, words
from qwen3090_ops.attention.scratch import Scratch

CHUNK = 16_384  # tokens written at once
BLOCKS = {"bf16": 448, "int8": 864, "int4": 1_696}  # as in the profiles fast, long and huge


class Stored:
    """One request's cache, its blocks in random order, and one block that it does not own."""

    def __init__(self, sample: Sample, name: str, page: int, multiprocessors: int) -> None:
        self.sample, self.page, self.multiprocessors = sample, page, multiprocessors
        self.length, self.device = len(sample.key), sample.key.device
        self.format: Format | None = FORMATS.get(f"{name}_per_token_head")
        blocks = -(-self.length // page)
        order = torch.randperm(blocks, generator=torch.Generator().manual_seed(2)) + 1
        self.table = order.to(self.device, torch.int32)[None]
        self.lengths = torch.tensor([self.length], dtype=torch.int32, device=self.device)
        self.starts = torch.tensor([0, TOKENS], dtype=torch.int32, device=self.device)
        self._write(blocks + 1)

    def _write(self, blocks: int) -> None:
        """Let vLLM's own class make the layout and store the tokens (bf16 is a mere copy)."""
        from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
        from vllm.v1.attention.backends.triton_attn import TritonAttentionImpl as Impl

        kind = self.format.cache_dtype if self.format else "auto"
        shape = TritonAttentionBackend.get_kv_cache_shape(blocks, self.page, KV_HEADS, DIM, kind)
        types = {"int8": torch.int8, "int4": torch.uint8}
        dtype = types[self.format.name] if self.format else self.sample.key.dtype
        count, heads, page, content = shape
        raw = torch.zeros(count, page, heads, content, dtype=dtype, device=self.device)
        self.cache = raw.transpose(1, 2)
        self.impl: Any = Impl(HEADS, DIM, SCALE, KV_HEADS, None, None, kind)
        place = torch.arange(self.length, device=self.device)
        block, row = self.table[0].long()[place // page], place % page
        if self.format is None:
            raw[block, row] = torch.cat([self.sample.key, self.sample.value], -1)
            return
        slots = block * page + row
        for at in range(0, self.length, CHUNK):
            part = slice(at, at + CHUNK)
            key, value = self.sample.key[part], self.sample.value[part]
            self.impl.do_kv_cache_update(None, key, value, self.cache, slots[part])

    def ours(self) -> torch.Tensor:
        """Return what our kernel for a verify step answers."""
        out = torch.full_like(self.sample.q, float("nan"))
        scratch = Scratch.make(
            requests=1,
            tokens=TOKENS,
            heads=HEADS,
            kv_heads=KV_HEADS,
            dim=DIM,
            multiprocessors=self.multiprocessors,
            device=self.device,
        )
        more: dict[str, Any] = {
            "scale": SCALE,
            "tokens": TOKENS,
            "scratch": scratch,
            "multiprocessors": self.multiprocessors,
        }
        where = self.table, self.lengths, self.starts, out
        if self.format is None:
            from qwen3090_ops.attention.split import attend

            packed = self.cache.transpose(1, 2)
            attend(self.sample.q, packed[..., :DIM], packed[..., DIM:], *where, **more)
        else:
            from qwen3090_ops.attention.quantized import attend_words

            cache = words(self.cache)
            attend_words(self.sample.q, cache, *where, format=self.format, **more)
        return out

    def vllm(self) -> torch.Tensor:
        """Return what vLLM's own Triton attention answers over the same cache."""
        from vllm.v1.attention.ops.triton_unified_attention import unified_attention

        out = torch.full_like(self.sample.q, float("nan"))
        scales: dict[str, Any] = {}
        if self.format is None:
            key, value = self.cache.transpose(1, 2).split(DIM, dim=-1)
        else:
            key, value = self.impl._pth_key_value_caches(self.cache)
            scales = {
                "kv_quant_mode": self.impl._kv_quant_mode,
                "k_scale_cache": self.impl._k_scale_cache,
                "v_scale_cache": self.impl._v_scale_cache,
            }
        unified_attention(
            q=self.sample.q,
            k=key,
            v=value,
            out=out,
            cu_seqlens_q=self.starts,
            max_seqlen_q=TOKENS,
            seqused_k=self.lengths,
            max_seqlen_k=self.length,
            softmax_scale=SCALE,
            causal=True,
            window_size=(-1, -1),
            block_table=self.table,
            softcap=0,
            q_descale=None,
            k_descale=None,
            v_descale=None,
            **scales,
        )
        return out

    def read(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and values that the cache holds, [length, 4, 256]: fp64, plain torch."""
        place = torch.arange(self.length, device=self.device)
        block, row = self.table[0].long()[place // self.page], place % self.page
        held = self.cache.transpose(1, 2)[block, row]  # [length, heads, content]
        key, value = held.chunk(2, -1)
        if self.format is None:
            return key.double(), value.double()
        return self._unpacked(key), self._unpacked(value)

    def _unpacked(self, held: torch.Tensor) -> torch.Tensor:
        assert self.format is not None
        bits = held[..., -4:].contiguous().view(torch.int32)
        codes = held[..., :-4]
        if not self.format.rotated:
            return codes.double() * bits.view(torch.float32).double()
        zero, scale = bits & 15, (bits & -16).view(torch.float32).double()
        pairs = torch.stack([codes & 15, codes >> 4], -1).flatten(-2)
        return (pairs.to(torch.int32) - zero).double() * scale @ _unrotation(held.device)


def _unrotation(device: torch.device) -> torch.Tensor:
    """Return the fp64 [256, 256] that takes stored int4 rows back to the model's space.

    A stored row is x D H: D of vLLM's fixed signs, H of Sylvester's construction, H H = 256.
    """
    from vllm.v1.attention.ops.int4_per_token_head import _get_rht_signs

    turn = torch.ones(1, 1, dtype=torch.float64, device=device)
    step = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64, device=device)
    while len(turn) < DIM:
        turn = torch.kron(step, turn)
    return turn * _get_rht_signs(DIM, 0, device).double() / DIM
