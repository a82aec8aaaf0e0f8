"""Finds target and drafter in either model runner, and whose an attention-like layer is.

V2 keeps the drafter in ``speculator`` (vllm/v1/worker/gpu/model_runner.py:229), V1 in ``drafter``
(vllm/v1/worker/gpu_model_runner.py:633).
"""

from collections.abc import Iterator
from typing import Any, Literal

import torch

Role = Literal["target", "recurrent", "drafter"]
V2 = "vllm.v1.worker.gpu.model_runner"


def is_v2(runner: Any) -> bool:
    """Return whether a model runner is vLLM's V2 one or derived from it."""
    return any(base.__module__ == V2 for base in type(runner).__mro__)


def speculator(runner: Any) -> Any:
    """Return what drafts, None without speculation."""
    return getattr(runner, "speculator" if is_v2(runner) else "drafter", None)


def target(runner: Any) -> torch.nn.Module:
    """Return the served model."""
    found: torch.nn.Module = runner.get_model()
    return found


def drafter(runner: Any) -> torch.nn.Module | None:
    """Return the drafter's model, None without one."""
    return getattr(speculator(runner), "model", None)


def cached_layers(runner: Any) -> Iterator[tuple[str, Role, Any]]:
    """Yield name, role and layer of everything that keeps a cache: attention and recurrence.

    vLLM registers them under ``compilation_config.static_forward_context`` when they are built.
    """
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
    from vllm.model_executor.layers.mamba.abstract import MambaBase

    draft = drafter(runner)
    own = {id(module) for module in target(runner).modules()}
    drafts = {id(m) for m in draft.modules()} - own if draft is not None else set()
    for name, layer in runner.compilation_config.static_forward_context.items():
        if not isinstance(layer, AttentionLayerBase):
            continue
        role: Role = "recurrent" if isinstance(layer, MambaBase) else "target"
        yield name, "drafter" if id(layer) in drafts else role, layer


def count(texts: Iterator[str] | list[str]) -> dict[str, int]:
    """Return how often each text occurs, in the order of first occurrence."""
    found: dict[str, int] = {}
    for text in texts:
        found[text] = found.get(text, 0) + 1
    return found


def dtype_name(dtype: Any) -> str:
    """Return ``bfloat16`` for torch.bfloat16."""
    return str(dtype).removeprefix("torch.")
