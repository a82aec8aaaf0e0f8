"""A worker's report as a GPU engine of profile ``fast`` must give it; tests change it by one fact.

The figures are those of docs/results/gpu-pools.txt and gpu-dflash2.txt, not computed from the plan.
"""

from typing import Any

SERIES = "5e" * 32
PAGE, BLOCK = 1_835_008, 448


def _row(layer: str, count: int, bits: int | None = 4) -> dict[str, Any]:
    kernel = "MarlinLinearKernel" if bits else "UnquantizedLinearMethod"
    act = "bfloat16" if bits else None
    return {"layer": layer, "kernel": kernel, "bits": bits, "activations": act, "count": count}


def _full(sizes: list[int], query: int | None) -> list[dict[str, Any]]:
    return [{"tokens": size, "query": query} for size in sizes]


def _attention(layers: int, split: int = 0) -> dict[str, Any]:
    return {
        "layers": layers,
        "backends": {"FLASH_ATTN": layers},
        "bound": layers,
        "split": split,
        "classes": {"vllm.v1.attention.backends.flash_attn.FlashAttentionImpl": layers},
        "cache": {"bfloat16": layers},
        "windows": {"None": layers},
    }


def _group(kind: str, layers: int) -> dict[str, Any]:
    return {"kind": kind, "layers": layers, "block": BLOCK, "page": PAGE}


def fast() -> dict[str, Any]:
    """Return the report of profile ``fast``: DFlash2, 7 drafts, 8 seats, V2 runner, FULL graphs."""
    eights = list(range(8, 65, 8))
    embedding = {"kernel": "CompressedTensorsEmbeddingWNA16Int", "bits": 8, "activations": None}
    return {
        "format": 1,
        "series": {"tree": "/site", "hash": SERIES, "patches": ["0101"], "wrong": [], "newer": []},
        "hooks": {"hooks": [{"name": "entry-point", "active": True, "detail": "there"}]},
        "machine": {
            "vllm": "0.28.0", "torch": "2.13.0+cu130", "triton": "3.7.1", "flashinfer": "0.6.16",
            "python": "3.12.1", "cuda": "13.0", "device": "cuda:0", "name": "RTX 3090",
            "capability": "8.6", "weights_bytes": 1, "total_bytes": 25 << 30,
            "free_bytes": 1 << 30, "reserved_bytes": 22 << 30, "peak_reserved_bytes": 23 << 30,
            "allocated_bytes": 21 << 30,
        },
        "settings": {
            "model": "/models/target", "architecture": "Qwen3_5ForConditionalGeneration",
            "runner": "v2", "runner_class": "vllm.v1.worker.gpu.model_runner.GPUModelRunner",
            "dtype": "bfloat16", "context": 65536, "seats": 8, "max_batched_tokens": 2048,
            "async_scheduling": True, "prefix_cache": True, "state_cache_mode": "align",
            "eager": False, "vision_bytes": 0, "knobs": {},
        },
        "attention": {
            "target": _attention(16, split=16),
            "drafter": _attention(5),
            "recurrent": {
                "layers": 48, "backends": {"GDN_ATTN": 48}, "bound": 48,
                "classes": {"vllm.QwenGatedDeltaNetAttention": 48}, "state": {"float16": 48},
                "prefill": {"triton": 48}, "decode": {"triton": 48},
            },
        },
        "pool": {
            "blocks": 380, "tokens": 68_605, "bytes": 380 * 8 * PAGE,
            "groups": [
                *[_group("MambaSpec", 8)] * 6,
                *[_group("FullAttentionSpec", 8)] * 2,
                _group("SlidingWindowSpec", 5),
            ],
        },
        "graphs": {
            "mode": "FULL_AND_PIECEWISE", "sizes": [1, 2, 4, *eights],
            "target": {"FULL": _full(eights, 8), "PIECEWISE": _full([1, 2, 4, *eights], None)},
            "drafter": {"query_cudagraph_manager": {"FULL": _full(eights, 8)}},
        },
        "linears": {
            "target": [
                {"layer": "embed_tokens", "count": 1, **embedding}, _row("lm_head", 1),
                _row("qkv_proj", 16), _row("gate_up_proj", 64), _row("in_proj_ba", 48, None),
            ],
            "drafter": [_row("fc", 1), _row("qkv_proj", 5)],
            "fused": {"qkv_proj": ["q_proj", "k_proj", "v_proj"]},
            "shared": ["embed_tokens", "lm_head"],
        },
        "speculation": {
            "method": "dflash", "tokens": 7, "class": "DFlash2Speculator",
            "model": "DFlash2Qwen3ForCausalLM", "sampling": "probabilistic",
            "rejection": "block", "draft_vocabulary": None, "selector": "flashinfer",
        },
    }  # fmt: skip
