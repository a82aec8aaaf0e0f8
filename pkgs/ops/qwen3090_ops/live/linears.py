"""Which kernel multiplies by each kind of weight, with how many bits, in target and drafter."""

from typing import Any

import torch

from qwen3090_ops.live.parts import drafter, dtype_name, target


def linears(worker: Any) -> dict[str, Any]:
    """Return rows per role: layer (last part of the name), kernel, bits, activations, count.

    ``bits`` is None for weights in the model's own dtype. The drafter's rows leave out what it
    shares with the target; ``shared`` names those. ``fused`` says which weights of the checkpoint
    make up a layer.
    """
    runner = worker.model_runner
    model, draft = target(runner), drafter(runner)
    own = {id(module) for module in model.modules()}
    found: dict[str, Any] = {"target": _rows(model, set()), "fused": _fused(model)}
    if draft is not None:
        found["drafter"] = _rows(draft, own)
        found["fused"] |= _fused(draft)
        shared = {name for name, module in _layers(draft) if id(module) in own}
        found["shared"] = sorted({name.rpartition(".")[2] for name in shared})
    return found


def _fused(model: Any) -> dict[str, list[str]]:
    mapping = getattr(model, "packed_modules_mapping", None) or {}
    return {str(name): [str(part) for part in parts] for name, parts in mapping.items()}


def _layers(model: torch.nn.Module) -> list[tuple[str, Any]]:
    from vllm.model_executor.layers.linear import LinearBase
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    kinds = (LinearBase, VocabParallelEmbedding)
    return [(name, each) for name, each in model.named_modules() if isinstance(each, kinds)]


def _rows(model: torch.nn.Module, without: set[int]) -> list[dict[str, Any]]:
    rows: dict[tuple[Any, ...], int] = {}
    for name, module in _layers(model):
        if id(module) not in without and "visual" not in name:
            key = (name.rpartition(".")[2], *_method(module))
            rows[key] = rows.get(key, 0) + 1
    names = ("layer", "kernel", "bits", "activations")
    return [dict(zip(names, key, strict=True)) | {"count": n} for key, n in rows.items()]


def _method(module: Any) -> tuple[str, int | None, str | None]:
    """Return what computes a layer, bits of a weight, and the dtype of activations."""
    kernel = getattr(getattr(module, "scheme", None), "kernel", None)
    if kernel is not None:
        config = kernel.config
        bits = getattr(getattr(config, "weight_type", None), "size_bits", None)
        return type(kernel).__name__, bits, dtype_name(config.act_type)
    method = module.quant_method
    bits = getattr(method, "num_bits", None)
    return type(method).__name__, bits, None
