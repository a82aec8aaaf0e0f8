"""The self-test answers for vLLM: active as patched, inactive where vLLM goes its own way."""

from typing import Any

import pytest
from qwen3090_ops.sampling import hooks
from vllm.model_executor.layers import logits_processor
from vllm.v1.worker.gpu.sample.states import SamplingStates
from vllm.v1.worker.gpu.spec_decode.dflash2.speculator import DFlash2Speculator
from vllm.v1.worker.gpu.spec_decode.speculator import DraftModelSpeculator

ALL = [
    hooks.small_top_k,
    hooks.draft_truncation,
    hooks.selector_truncation,
    hooks.candidate_top_k,
]


def test_all_are_active() -> None:
    assert [ask() for ask in ALL if not ask()[0]] == []


def test_each_notices_vllms_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def sort(self: Any, _: Any, rows: Any, rows_np: Any) -> None:
        self.get_top_k_top_p(rows, rows_np)

    def sample(self: Any, hidden: Any, *_: Any, **__: Any) -> None:
        self.model.compute_logits(hidden)

    monkeypatch.setattr(SamplingStates, "apply_top_k_top_p", sort)
    monkeypatch.setattr(DraftModelSpeculator, "sample_draft", sample)
    monkeypatch.setattr(DFlash2Speculator, "_sample_path", lambda *_: None)
    monkeypatch.setattr(logits_processor, "_topk", lambda scores, k: scores.topk(k))
    assert [ask() for ask in ALL if ask()[0]] == []
