"""The KV pool as it was allocated: blocks, tokens, groups, bytes."""

from typing import Any

from qwen3090_ops.live.parts import cached_layers


def pool(worker: Any) -> dict[str, Any]:
    """Return the pool: ``tokens`` is the engine's "GPU KV cache size", sizes are in bytes."""
    from vllm.v1.core.kv_cache_utils import get_max_concurrency_for_kv_cache_config

    config, runner = worker.vllm_config, worker.model_runner
    kv = runner.kv_cache_config
    requests = get_max_concurrency_for_kv_cache_config(config, kv)
    return {
        "blocks": kv.num_blocks,
        "tokens": int(requests * config.model_config.max_model_len),
        "bytes": sum(_storages(runner).values()),
        "groups": [
            {
                "kind": type(group.kv_cache_spec).__name__,
                "layers": len(group.layer_names),
                "block": group.kv_cache_spec.block_size,
                "page": group.kv_cache_spec.page_size_bytes,
            }
            for group in kv.kv_cache_groups
        ],
    }


def _storages(runner: Any) -> dict[int, int]:
    """Return address and bytes of every allocation that a layer's cache lies in, each once."""
    found: dict[int, int] = {}

    def add(cache: Any) -> None:
        if isinstance(cache, (list, tuple)):
            for part in cache:
                add(part)
        elif cache is not None and cache.numel() > 0:
            storage = cache.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()

    for _, _, layer in cached_layers(runner):
        add(getattr(layer, "kv_cache", None))
    return found
