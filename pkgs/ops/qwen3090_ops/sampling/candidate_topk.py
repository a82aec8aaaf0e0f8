"""Which kernel finds DFlash2's candidates in the head's logits: what was asked for, or an error.

vLLM takes FlashInfer's kernel when it can and torch.topk at half its speed when it cannot, with no
more than a line in the log.
"""

from collections.abc import Callable
from typing import Any

import torch

from qwen3090_ops.knobs import choice

KNOB = "candidate_topk"
CHOICES = ("flashinfer", "torch", "triton")
TopK = Callable[[torch.Tensor, int], tuple[torch.Tensor, torch.Tensor]]


def torch_topk(scores: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the k largest of [rows, vocab] and their columns, [rows, k] each, in falling order."""
    return torch.topk(scores, k, dim=-1)


def triton_topk(scores: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same by our kernels (see ``top``)."""
    from qwen3090_ops.sampling.top import top

    return top(scores, k)


def candidate_topk(additional_config: Any) -> TopK | None:
    """Return the top-k that was asked for, None for vLLM's choice of FlashInfer's.

    Raises:
        ValueError: ``{"qwen3090": {"candidate_topk": ...}}`` is none of the choices.
    """
    asked = choice(additional_config, KNOB, CHOICES, "flashinfer")
    return {"torch": torch_topk, "triton": triton_topk}.get(asked)


def refuse_fallback() -> None:
    """Say that FlashInfer's kernel is missing where torch's was not asked for.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "DFlash2's candidates need FlashInfer's top-k, and FlashInfer cannot be used: it is not "
        "installed, or there is no nvcc on PATH to build it with. Run `qwen3090 setup --engine "
        "cuda`, or ask for another kernel: `qwen3090 serve ... --set candidate_topk=triton`"
    )
