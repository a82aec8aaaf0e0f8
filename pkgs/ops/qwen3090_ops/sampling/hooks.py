"""What the self-test asks vLLM about sampling: do its own functions use ours?

Each answer comes from running a function of vLLM with stand-ins, so it needs neither a GPU nor
Triton's driver and holds for the code that is imported, whatever the files say.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from qwen3090_ops.sampling.limits import MAX_K

Answer = tuple[bool, str]


class _ReachedError(Exception):
    """Raised by a stand-in of ours that was reached."""


def _reached(*_: Any, **__: Any) -> Any:
    raise _ReachedError


class _Speculator(SimpleNamespace):
    @property
    def truncation(self) -> Any:
        raise _ReachedError


def _reaches(run: Callable[[], object]) -> bool:
    try:
        run()
    except _ReachedError:
        return True
    except AttributeError:  # the stand-in lacks what vLLM's unchanged code reads next
        return False
    return False


def small_top_k() -> Answer:
    """Ask whether vLLM's V2 sampler leaves a small top-k to our kernels (patch 0211)."""
    import torch
    from vllm.v1.worker.gpu.sample.states import SamplingStates

    states = SimpleNamespace(
        get_top_k_top_p=_reached,  # vLLM's own way
        vocab_size=8,
        top_k=SimpleNamespace(np=np.array([2]), gpu=torch.tensor([2])),
        top_p=SimpleNamespace(np=np.array([0.5]), gpu=torch.tensor([0.5])),
    )
    nothing, row = torch.empty(0, 8), np.array([0])
    stock = _reaches(
        lambda: SamplingStates.apply_top_k_top_p(states, nothing, torch.tensor([0]), row)
    )
    return not stock, f"top-k up to {MAX_K}: {'vLLM sorts' if stock else 'no sort'}"


def draft_truncation() -> Answer:
    """Ask whether vLLM's speculators truncate what they draft (patch 0227)."""
    from vllm.v1.worker.gpu.spec_decode.speculator import DraftModelSpeculator

    ours = _reaches(
        lambda: DraftModelSpeculator.sample_draft(_Speculator(), *[None] * 6, draft_logits=True)
    )
    return ours, f"logits of drafts: {'truncated' if ours else 'all of them'}"


def selector_truncation() -> Answer:
    """Ask whether vLLM's walk over DFlash2's candidates truncates them (patch 0228)."""
    from vllm.triton_utils import HAS_TRITON

    if not HAS_TRITON:
        return True, "not needed: no Triton, so no DFlash2"
    from vllm.v1.worker.gpu.spec_decode.dflash2.speculator import DFlash2Speculator

    speculator = _Speculator(selector_top_k=16)
    ours = _reaches(lambda: DFlash2Speculator._sample_path(speculator, None, None, 1))
    return ours, f"DFlash2's candidates: {'truncated' if ours else 'all of them'}"


def candidate_top_k() -> Answer:
    """Ask whether vLLM's candidate search takes the kernel it is given (patch 0229)."""
    import inspect

    import torch
    from vllm.model_executor.layers import logits_processor

    ours = "asked" in inspect.signature(logits_processor._topk).parameters and _reaches(
        lambda: logits_processor._topk(torch.zeros(1, 2), 1, _reached)
    )
    return ours, f"DFlash2's candidates: {'the kernel asked for' if ours else 'no choice'}"
