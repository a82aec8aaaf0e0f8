"""The settings that the loaded engine runs with, after everything that vLLM itself changed."""

from typing import Any

from qwen3090_ops.live.parts import dtype_name, is_v2


def settings(worker: Any) -> dict[str, Any]:
    """Return limits, modes, our knobs of ``--additional-config`` and a vision tower's bytes."""
    config, runner = worker.vllm_config, worker.model_runner
    cache, scheduler = config.cache_config, config.scheduler_config
    additional = config.additional_config
    ours = additional.get("qwen3090", {}) if isinstance(additional, dict) else {}
    return {
        "model": str(config.model_config.model),
        "architecture": type(runner.get_model()).__name__,
        "runner": "v2" if is_v2(runner) else "v1",
        "runner_class": f"{type(runner).__module__}.{type(runner).__qualname__}",
        "dtype": dtype_name(config.model_config.dtype),
        "context": config.model_config.max_model_len,
        "seats": scheduler.max_num_seqs,
        "max_batched_tokens": scheduler.max_num_batched_tokens,
        "async_scheduling": bool(scheduler.async_scheduling),
        "prefix_cache": bool(cache.enable_prefix_caching),
        "state_cache_mode": str(cache.mamba_cache_mode),
        "eager": bool(config.model_config.enforce_eager),
        "vision_bytes": _vision_bytes(runner.get_model()),
        "knobs": ours if isinstance(ours, dict) else {},
    }


def _vision_bytes(model: Any) -> int:
    """Return the bytes of a loaded vision tower, 0 when it was left out."""
    return sum(p.nbytes for name, p in model.named_parameters() if "visual." in name)
