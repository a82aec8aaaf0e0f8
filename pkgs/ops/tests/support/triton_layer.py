"""A layer of our TRITON_ATTN and its metadata builder on a CPU, with stand-ins for the card.

FlashAttention is plain torch; scratch and room for context are filled with NaN.
"""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from quantized_batch import DIM, flash
from qwen3090_ops.attention import triton_backend
from qwen3090_ops.attention.formats import INT8
from qwen3090_ops.attention.prefill import Context
from qwen3090_ops.attention.scratch import Scratch
from vllm.config import CUDAGraphMode
from vllm.utils.torch_utils import kv_cache_dtype_str_to_dtype
from vllm.v1.kv_cache_interface import FullAttentionSpec, get_kv_quant_mode

DRAFTS, ROOM, PAGE = 4, 32, 48
HEADS, KV_HEADS = 6, 2


class Config(SimpleNamespace):
    """Stands for VllmConfig: what our classes and vLLM's read of it."""

    @classmethod
    def make(cls, drafts: int | None = DRAFTS, knob: bool = True, **more: Any) -> "Config":
        model = SimpleNamespace(
            dtype=torch.float16,
            rswa_window=None,
            get_num_attention_heads=lambda _: HEADS,
            get_num_kv_heads=lambda _: KV_HEADS,
            get_head_size=lambda: DIM,
        )
        return cls(
            additional_config={"qwen3090": {"split_attention": knob}},
            speculative_config=drafts and SimpleNamespace(num_speculative_tokens=drafts),
            scheduler_config=SimpleNamespace(max_num_seqs=8),
            model_config=model,
            parallel_config=SimpleNamespace(decode_context_parallel_size=1),
            compilation_config=SimpleNamespace(
                cudagraph_mode=CUDAGraphMode.NONE, static_forward_context={}
            ),
            **more,
        )


def put_on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put on the CPU what is on the card, made as it is there; chunks are short."""

    def scratch(requests: int, tokens: int, heads: int, kv_heads: int, dim: int) -> Scratch:
        made = Scratch.make(
            requests=requests,
            tokens=tokens,
            heads=heads,
            kv_heads=kv_heads,
            dim=dim,
            multiprocessors=4,
            device=torch.device("cpu"),
        )
        made.partial.fill_(float("nan"))
        made.weights.fill_(float("nan"))
        return made

    def context(kv_heads: int, dim: int, dtype: torch.dtype) -> Context:
        made = Context.make(kv_heads, dim, dtype, torch.device("cpu"), ROOM)
        made.keys.fill_(float("nan"))
        made.values.fill_(float("nan"))
        return made

    monkeypatch.setattr(triton_backend, "scratch_of", scratch)
    monkeypatch.setattr(triton_backend, "context_of", context)
    monkeypatch.setattr(triton_backend, "multiprocessors", lambda: 4)
    monkeypatch.setattr(triton_backend, "flash_attention", lambda _, scale: flash(scale))
    monkeypatch.setattr(triton_backend, "CONTEXT_TOKENS", ROOM)


def impl(
    monkeypatch: pytest.MonkeyPatch,
    cache_dtype: str = INT8.cache_dtype,
    *,
    config: Config | None = None,
    **more: Any,
) -> triton_backend.SplitTritonImpl:
    """Return a layer's attention as vLLM makes it."""
    found = config or Config.make()
    monkeypatch.setattr(triton_backend, "get_current_vllm_config_or_none", lambda: found)
    given = {"alibi_slopes": None, "sliding_window": None} | more
    sizes = {"num_heads": HEADS, "head_size": DIM, "scale": DIM**-0.5, "num_kv_heads": KV_HEADS}
    return triton_backend.SplitTritonImpl(kv_cache_dtype=cache_dtype, **(sizes | given))


def builder(
    cache_dtype: str = INT8.cache_dtype, config: Config | None = None, device: str = "cpu"
) -> triton_backend.SplitTritonMetadataBuilder:
    """Return a group's metadata builder."""
    kind = triton_backend.SplitTritonMetadataBuilder
    return kind(spec(cache_dtype), ["layer"], config or Config.make(), torch.device(device))


def spec(cache_dtype: str) -> FullAttentionSpec:
    """Return what a group's layers store."""
    return FullAttentionSpec(
        block_size=PAGE,
        num_kv_heads=KV_HEADS,
        head_size=DIM,
        dtype=kv_cache_dtype_str_to_dtype(cache_dtype, None),
        kv_quant_mode=get_kv_quant_mode(cache_dtype),
    )
