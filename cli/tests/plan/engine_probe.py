"""Runs vLLM's own KV-cache code for settings read as JSON lines, for the plan to agree with.

Run as a script, with the vLLM tree to ask first on PYTHONPATH. No model is made: the layers'
spec methods, the block alignment, grouping, pool sizing and capacity are vLLM's functions,
called with stand-ins that hold only the fields they read.
"""

import contextlib
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

os.environ["FLASHINFER_DISABLE_VERSION_CHECK"] = "1"
os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"

import vllm.config.vllm as config_module
import vllm.model_executor.models as models
from engine_seats import keep_resident  # type: ignore[import-not-found]
from vllm.config import VllmConfig
from vllm.model_executor.layers.attention.attention import Attention
from vllm.model_executor.layers.mamba.abstract import MambaBase
from vllm.model_executor.models.config import MambaModelConfig
from vllm.model_executor.models.qwen3_5 import Qwen3_5ForConditionalGeneration as Model
from vllm.platforms.interface import Platform
from vllm.utils.torch_utils import kv_cache_dtype_str_to_dtype
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend
from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend
from vllm.v1.attention.backends.flashinfer import FlashInferBackend
from vllm.v1.attention.backends.registry import MambaAttentionBackendEnum
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.core import kv_cache_utils as utils
from vllm.v1.core.kv_cache_coordinator import get_kv_cache_coordinator
from vllm.v1.core.single_type_kv_cache_manager import register_all_kvcache_specs
from vllm.v1.worker.gpu import attn_utils

BACKENDS = {
    "FLASH_ATTN": FlashAttentionBackend,
    "FLASHINFER": FlashInferBackend,
    "TRITON_ATTN": TritonAttentionBackend,
    "CPU_ATTN": CPUAttentionBackend,
}
DTYPES = {
    "bf16": "bfloat16",
    "fp8": "fp8",
    "int8": "int8_per_token_head",
    "int4": "int4_per_token_head",
}
STATE = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}


class Config(SimpleNamespace):
    """A stand-in for VllmConfig; the computed figures are VllmConfig's own properties."""

    max_concurrent_batches = VllmConfig.__dict__["max_concurrent_batches"]
    max_in_flight_tokens = VllmConfig.__dict__["max_in_flight_tokens"]


def make_config(case: dict[str, Any]) -> Config:
    """Return the configuration of one case, before any block size is decided."""
    import torch

    g = case["geometry"]
    text = SimpleNamespace(
        linear_num_key_heads=g["key_heads"],
        linear_num_value_heads=g["value_heads"],
        linear_key_head_dim=g["key_dim"],
        linear_value_head_dim=g["value_dim"],
        linear_conv_kernel_dim=g["conv_kernel"],
    )
    k = case["k"]
    return Config(
        use_v2_model_runner=True,
        kv_transfer_config=None,
        model_config=SimpleNamespace(
            use_mla=False,
            is_hybrid=True,
            dtype={2: torch.bfloat16, 4: torch.float32}[g["model_bytes"]],
            architecture="Qwen3_5ForConditionalGeneration",
            hf_text_config=text,
            hf_config=text,
            max_model_len=case["context"],
            original_max_model_len=case["context"],
            supports_mamba_prefix_caching=False,
            get_num_kv_heads=lambda _: g["kv_heads"],
            get_head_size=lambda: g["head_dim"],
        ),
        cache_config=SimpleNamespace(
            cache_dtype=DTYPES[case["kv_format"]],
            enable_prefix_caching=case["prefix_cache"],
            block_size=None,
            user_specified_block_size=False,
            user_specified_mamba_block_size=False,
            mamba_block_size=None,
            mamba_cache_mode="none",
            mamba_page_size_padded=None,
            mamba_cache_dtype="auto",
            mamba_ssm_cache_dtype=STATE[case["state_dtype"]],
            skip_page_size_padded=None,
            kv_cache_dtype_skip_layers=[],
            prefix_match_unit=None,
            num_gpu_blocks_override=None,
        ),
        parallel_config=SimpleNamespace(
            decode_context_parallel_size=1, tensor_parallel_size=1, pipeline_parallel_size=1
        ),
        scheduler_config=SimpleNamespace(
            async_scheduling=case["async_scheduling"],
            max_num_batched_tokens=case["max_batched_tokens"],
            enable_chunked_prefill=True,
            disable_hybrid_kv_cache_manager=False,
        ),
        speculative_config=SimpleNamespace(
            num_speculative_tokens=k, use_multi_module_mtp=lambda: False, use_eagle=lambda: True
        )
        if k
        else None,
    )


def attention(
    case: dict[str, Any], fmt: str, backend: str, heads: int, dim: int, window: Any
) -> SimpleNamespace:
    """Return a stand-in for an attention layer, with its real ``get_kv_cache_spec``."""
    layer = SimpleNamespace(
        attn_type="decoder",
        kv_cache_dtype=DTYPES[fmt],
        kv_cache_torch_dtype=kv_cache_dtype_str_to_dtype(DTYPES[fmt], None),
        sliding_window=window,
        attn_backend=BACKENDS[backend],
        num_kv_heads=heads,
        head_size=dim,
        head_size_v=dim,
    )
    layer.get_kv_cache_spec = lambda cfg: Attention.get_kv_cache_spec(layer, cfg)
    layer.get_attn_backend = lambda: layer.attn_backend
    return layer


def recurrent(cfg: Config) -> SimpleNamespace:
    """Return a stand-in for a GDN layer, with its real ``get_kv_cache_spec``."""
    layer = SimpleNamespace(
        get_state_shape=lambda: Model.get_mamba_state_shape_from_config(cfg),
        get_state_dtype=lambda: Model.get_mamba_state_dtype_from_config(cfg),
        mamba_type=MambaAttentionBackendEnum.GDN_ATTN,
    )
    layer.get_kv_cache_spec = lambda c: MambaBase.get_kv_cache_spec(layer, c)
    return layer


def make_layers(case: dict[str, Any], cfg: Config) -> dict[str, Any]:
    """Return every layer by name: target in its order (a recurrent one first), then drafter."""
    g, layers = case["geometry"], {}
    target = (case["kv_format"], case["target_backend"], g["kv_heads"], g["head_dim"], None)
    for i in range(g["recurrent_layers"]):
        layers[f"model.layers.{i}.linear_attn"] = recurrent(cfg)
    for i in range(g["attention_layers"]):
        layers[f"model.layers.{i}.self_attn"] = attention(case, *target)
    draft = (case["drafter_kv_format"], case["drafter_backend"])
    if case["speculation"] == "mtp":
        for i in range(g["mtp_layers"]):
            layers[f"mtp.layers.{i}"] = attention(case, *draft, g["kv_heads"], g["head_dim"], None)
    if case["speculation"] == "dflash2":
        d = g["drafter"]
        for i, window in enumerate(d["windows"]):
            layers[f"draft.layers.{i}"] = attention(
                case, *draft, d["kv_heads"], d["head_dim"], window
            )
    return layers


def run(case: dict[str, Any]) -> dict[str, Any]:
    """Return what vLLM computes for one case."""
    cfg = make_config(case)
    MambaModelConfig.verify_and_update_config(cfg)
    backend = BACKENDS[case["target_backend"]]
    # platforms/cpu.py sets 128 where other platforms ask the backend.
    cpu = case["device"] == "cpu"
    cfg.cache_config.block_size = 128 if cpu else backend.get_preferred_block_size(16)
    Platform._align_hybrid_block_size.__func__(Platform, cfg, backend)
    layers = make_layers(case, cfg)
    attn_utils.get_layers_from_vllm_config = lambda *_: layers
    specs = attn_utils.get_kv_cache_spec(cfg)
    state = MODEL_STATE(cfg)
    block = cfg.cache_config.block_size
    result: dict[str, Any] = {"state_bytes": state}
    try:
        configs = utils.get_kv_cache_configs(cfg, [specs], [case["kv_bytes"]])
        result["fits"] = True
        pool = utils.generate_scheduler_kv_cache_config(configs)
    except NotImplementedError as error:
        return {**result, "error": str(error), "fits": False}
    except ValueError as error:
        if "KV cache is needed" not in str(error):
            raise
        result["fits"] = False
        groups = utils.get_kv_cache_groups(cfg, specs)
        pool = utils.get_kv_cache_config_from_groups(cfg, groups, case["kv_bytes"])
    groups = pool.kv_cache_groups
    tokens, _ = utils.get_kv_cache_capacity(cfg, pool)
    cfg.cache_config.block_size = min(g.kv_cache_spec.block_size for g in groups)
    scheduler, hashing = utils.resolve_kv_cache_block_sizes(pool, cfg)
    hits = scheduler
    if cfg.cache_config.enable_prefix_caching and pool.num_blocks:
        coordinator = get_kv_cache_coordinator(
            pool, case["context"], cfg.max_in_flight_tokens, bool(case["k"]), True, False, 1, 1,
            scheduler, hashing,
        )  # fmt: skip
        hits = coordinator._cache_hit_alignment_tokens
    if case.get("resident"):
        result["resident"] = keep_resident(cfg, pool, case, scheduler, hashing)
    page = groups[0].kv_cache_spec.page_size_bytes
    slots = max(len(g.layer_names) for g in groups)
    return {
        **result,
        "pool_tokens": tokens,
        "blocks_available": pool.num_blocks,
        "blocks_needed": utils._max_memory_usage_bytes_from_groups(cfg, groups) // page // slots,
        "max_context": utils._estimate_max_model_len_from_groups(cfg, groups, case["kv_bytes"]),
        "page_bytes": page,
        "target_block": block,
        "scheduler_block": scheduler,
        "hash_block": hashing,
        "hit_block": hits,
        "groups": [
            [type(g.kv_cache_spec).__name__, len(g.layer_names), g.kv_cache_spec.block_size]
            for g in groups
        ],
    }


def MODEL_STATE(cfg: Config) -> int:
    """Return the bytes of one unpadded recurrent state."""
    from vllm.v1.kv_cache_interface import MambaSpec

    page: int = MambaSpec(
        shapes=Model.get_mamba_state_shape_from_config(cfg),
        dtypes=Model.get_mamba_state_dtype_from_config(cfg),
        block_size=-1,
    ).page_size_bytes
    return page


def main() -> None:
    """Answer one JSON line for each JSON line of standard input."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever vLLM prints goes to standard error
    models.ModelRegistry.resolve_model_cls = lambda *_, **__: (Model, "")
    register_all_kvcache_specs(None)
    with config_module.set_current_vllm_config(VllmConfig()):
        # The stand-in must not replace the real current configuration.
        config_module.set_current_vllm_config = lambda *_, **__: contextlib.nullcontext()
        attn_utils.set_current_vllm_config = config_module.set_current_vllm_config
        out.write("ready\n")
        for line in sys.stdin:
            out.write(json.dumps(run(json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
