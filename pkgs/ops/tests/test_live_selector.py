"""The live report names the kernel that finds DFlash2's candidates, whichever was asked for."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")
from qwen3090_ops.live.speculation import selector
from qwen3090_ops.sampling.candidate_topk import candidate_topk


def model(processor: Any) -> Any:
    return SimpleNamespace(model=SimpleNamespace(), candidate_logits_processor=processor)


@pytest.mark.parametrize("asked", ["torch", "triton"])
def test_a_kernel_that_was_asked_for(asked: str) -> None:
    topk = candidate_topk({"qwen3090": {"candidate_topk": asked}})
    assert selector(model(SimpleNamespace(topk=topk))) == asked


def test_vllms_own_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.model_executor.layers import logits_processor

    plain = model(SimpleNamespace(topk=candidate_topk({})))
    monkeypatch.setattr(logits_processor, "_flashinfer_topk", lambda: object())
    assert selector(plain) == "flashinfer"
    monkeypatch.setattr(logits_processor, "_flashinfer_topk", lambda: None)
    assert selector(plain) == "torch"


def test_a_drafter_without_candidates() -> None:
    assert selector(SimpleNamespace(model=SimpleNamespace())) is None
    assert selector(None) is None
