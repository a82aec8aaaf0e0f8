"""Each layer's KV cache has the layout of its own cache dtype (patch 0311).

``huge`` keeps the target in int4 and the drafter in int8. What a layer's kernels store and read
follows the layer's own dtype, so the view of its pages must too.
"""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")
import torch
from vllm.platforms.interface import DeviceCapability
from vllm.utils.torch_utils import kv_cache_dtype_str_to_dtype
from vllm.v1.attention.backends import triton_attn
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.attention.selector import AttentionSelectorConfig
from vllm.v1.core.kv_cache_utils import unify_kv_cache_spec_page_size
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheTensor,
    SlidingWindowSpec,
    get_kv_quant_mode,
)
from vllm.v1.worker.gpu import attn_utils
from vllm.v1.worker.utils import AttentionGroup

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.usefixtures("layout")]

TARGET, DRAFTER = "model.layers.3.self_attn.attn", "model.layers.64.self_attn.attn"
HEADS = {TARGET: (4, 256), DRAFTER: (8, 128)}
BLOCKS = 3
# cache dtype -> bytes of one head's keys and values of a token, the scales included
CONTENT = {
    "bfloat16": {128: 512, 256: 1024},
    "int8_per_token_head": {128: 264, 256: 520},
    "int4_per_token_head": {128: 136, 256: 264},
}
# target, drafter, drafts -> blocks of target and drafter (7 and 15 drafts decide the target's)
LAYOUTS = [
    ("int4_per_token_head", "int8_per_token_head", 1696, 848),
    ("int4_per_token_head", "int8_per_token_head", 1840, 928),
    ("int8_per_token_head", "int4_per_token_head", 864, 1664),
    ("int8_per_token_head", "int8_per_token_head", 864, 864),
    ("int4_per_token_head", "bfloat16", 1696, 448),
    ("bfloat16", "int8_per_token_head", 448, 880),
]


@pytest.fixture
def layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the order of dimensions, which vLLM otherwise takes from the engine's configuration."""
    monkeypatch.setattr(triton_attn, "get_kv_cache_layout", lambda: "NHD")


def spec(name: str, dtype: str, block: int) -> Any:
    """Return a layer's spec as the layer and its backend make it."""
    heads, dim = HEADS[name]
    fields: dict[str, Any] = {
        "block_size": block,
        "num_kv_heads": heads,
        "head_size": dim,
        "head_size_v": dim,
        "dtype": kv_cache_dtype_str_to_dtype(dtype, None),
        "kv_quant_mode": get_kv_quant_mode(dtype),
        "indexes_kv_by_block_stride": True,
    }
    if name == TARGET:
        return TritonAttentionBackend.customize_spec(FullAttentionSpec(**fields))
    return TritonAttentionBackend.customize_spec(SlidingWindowSpec(sliding_window=2048, **fields))


class Layer(SimpleNamespace):
    """Stands for an attention layer of the forward context."""

    def bind_kv_cache(self, cache: torch.Tensor) -> None:
        self.kv_cache = cache


def caches(target: str, drafter: str, block: int, *, own: bool = True) -> dict[str, Any]:
    """Return each layer's cache, and its spec; ``own`` tells the layers' dtypes to the runner."""
    formats = {TARGET: target, DRAFTER: drafter}
    specs = unify_kv_cache_spec_page_size(
        {TARGET: spec(TARGET, target, block), DRAFTER: spec(DRAFTER, drafter, 16)}
    )
    layers = {
        name: Layer(kv_cache_dtype=dtype) if own else Layer() for name, dtype in formats.items()
    }
    groups = [KVCacheGroupSpec([name], specs[name]) for name in formats]
    tensors = [KVCacheTensor(BLOCKS * specs[n].page_size_bytes, [n]) for n in formats]
    config = SimpleNamespace(
        compilation_config=SimpleNamespace(static_forward_context=layers),
        model_config=SimpleNamespace(hf_config=SimpleNamespace(model_type="qwen3_5")),
    )
    found = attn_utils.init_kv_cache(
        [], layers, KVCacheConfig(BLOCKS, tensors, groups),
        [
            [AttentionGroup(TritonAttentionBackend, [name], specs[name], place)]
            for place, name in enumerate(formats)
        ],
        torch.device("cpu"), target, [specs[name].block_size for name in formats], config,
    )  # fmt: skip
    return {name: (found[name], specs[name]) for name in formats}


@pytest.mark.parametrize(("target", "drafter", "block", "window"), LAYOUTS)
def test_each_cache_has_the_width_of_its_own_dtype(
    target: str, drafter: str, block: int, window: int
) -> None:
    found = caches(target, drafter, block)
    for name, dtype, tokens in ((TARGET, target, block), (DRAFTER, drafter, window)):
        cache, own = found[name]
        heads, dim = HEADS[name]
        width = CONTENT[dtype][dim] // cache.element_size()
        assert cache.shape == (BLOCKS, heads, tokens, width)
        assert cache.dtype == kv_cache_dtype_str_to_dtype(dtype, None)
        # Blocks lie a page apart, and a block's content within its page.
        assert cache.stride(0) * cache.element_size() == own.page_size_bytes
        assert cache[0].numel() * cache.element_size() <= own.page_size_bytes
        assert cache[-1].untyped_storage().nbytes() == BLOCKS * own.page_size_bytes
    pages = {own.page_size_bytes for _, own in found.values()}
    assert len(pages) == 1


def test_with_the_targets_dtype_the_drafters_cache_is_refused() -> None:
    """What vLLM does without the patch: 136 bytes where the drafter's kernels store 264."""
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        caches("int4_per_token_head", "int8_per_token_head", 1696, own=False)
    found, _ = caches("int8_per_token_head", "int8_per_token_head", 864, own=False)[DRAFTER]
    assert found.shape[-1] == CONTENT["int8_per_token_head"][128]


@pytest.mark.parametrize("dtype", ["int8_per_token_head", "int4_per_token_head", "bfloat16"])
@pytest.mark.parametrize("name", HEADS)
def test_the_backend_takes_each_layer_on_this_card(name: str, dtype: Any) -> None:
    """The drafter's layers, with a window and without causality, resolve as the target's do."""
    drafter = name == DRAFTER
    asked = AttentionSelectorConfig(
        head_size=HEADS[name][1], dtype=torch.bfloat16, kv_cache_dtype=dtype, block_size=None,
        use_non_causal=drafter, has_sliding_window=drafter,
    )  # fmt: skip
    refused = TritonAttentionBackend.validate_configuration(
        device_capability=DeviceCapability(8, 6), **asked._asdict()
    )
    assert refused == []
