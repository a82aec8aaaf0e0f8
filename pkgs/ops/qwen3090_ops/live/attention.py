"""Which attention kernels and which cache format each kind of layer really has."""

from typing import Any

from qwen3090_ops.live.parts import cached_layers, count, dtype_name


def attention(worker: Any) -> dict[str, Any]:
    """Return per role (target, recurrent, drafter) counts of backends, classes and formats.

    ``backends`` are vLLM's names (FLASH_ATTN), ``classes`` the implementation that runs,
    ``cache`` the format of the KV cache (bfloat16, fp8, int8_per_token_head), ``split`` the layers
    that our kernels compute, ``bound`` those that have a cache tensor. Recurrent layers have
    ``state`` (dtype of the recurrent state), ``prefill`` and ``decode`` (kernels) instead of
    ``cache``.
    """
    roles: dict[str, list[Any]] = {}
    for _, role, layer in cached_layers(worker.model_runner):
        roles.setdefault(role, []).append(layer)
    return {
        role: _recurrent(worker, layers) if role == "recurrent" else _attention(layers)
        for role, layers in roles.items()
    }


def _common(layers: list[Any]) -> dict[str, Any]:
    backends = [layer.get_attn_backend() for layer in layers]
    return {
        "layers": len(layers),
        "backends": count([backend.get_name() for backend in backends]),
        "bound": sum(_bound(getattr(layer, "kv_cache", None)) for layer in layers),
    }


def _attention(layers: list[Any]) -> dict[str, Any]:
    return _common(layers) | {
        "classes": count([_class(layer.impl) for layer in layers]),
        "split": sum(bool(getattr(layer.impl, "splits", False)) for layer in layers),
        "cache": count([str(layer.kv_cache_dtype) for layer in layers]),
        "windows": count([str(getattr(layer, "sliding_window", None)) for layer in layers]),
    }


def _recurrent(worker: Any, layers: list[Any]) -> dict[str, Any]:
    specs = [layer.get_kv_cache_spec(worker.vllm_config) for layer in layers]
    return _common(layers) | {
        "classes": count([_class(layer) for layer in layers]),
        "state": count([dtype_name(spec.dtypes[-1]) for spec in specs]),
        "prefill": count([str(getattr(layer, "gdn_prefill_backend", None)) for layer in layers]),
        "decode": count([str(getattr(layer, "gdn_decode_kernel", None)) for layer in layers]),
    }


def _bound(cache: Any) -> bool:
    """Return whether a layer has its cache: a tensor, or several (recurrent state)."""
    if isinstance(cache, (list, tuple)):
        return bool(cache) and all(_bound(part) for part in cache)
    return cache is not None and cache.numel() > 0


def _class(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
