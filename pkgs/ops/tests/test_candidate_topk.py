"""DFlash2's candidates come from the kernel that was asked for: vLLM's functions, as patched."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from qwen3090_ops.sampling.candidate_topk import candidate_topk, torch_topk, triton_topk


def test_the_knob_is_checked() -> None:
    assert candidate_topk({}) is None
    assert candidate_topk({"qwen3090": {"candidate_topk": "torch"}}) is torch_topk
    assert candidate_topk({"qwen3090": {"candidate_topk": "triton"}}) is triton_topk
    with pytest.raises(ValueError, match="must be one of flashinfer, torch, triton, got 'cub'"):
        candidate_topk({"qwen3090": {"candidate_topk": "cub"}})


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """vLLM's module, on a CUDA platform where FlashInfer cannot be used."""
    pytest.importorskip("vllm")
    from vllm.model_executor.layers import logits_processor

    monkeypatch.setattr(logits_processor, "current_platform", SimpleNamespace(is_cuda=lambda: True))
    monkeypatch.setattr(logits_processor, "has_flashinfer", lambda: False)
    logits_processor._flashinfer_topk.cache_clear()
    yield logits_processor
    logits_processor._flashinfer_topk.cache_clear()


@pytest.mark.engine
def test_a_missing_kernel_is_an_error_and_torchs_is_used_when_asked_for(on_cuda: Any) -> None:
    scores = torch.tensor([[1.0, 5.0, 3.0]])
    with pytest.raises(RuntimeError, match="--set candidate_topk=triton"):
        on_cuda._topk(scores, 2)
    values, ids = on_cuda._topk(scores, 2, torch_topk)
    assert values.tolist() == [[5.0, 3.0]] and ids.tolist() == [[1, 2]]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("knob", "expected"), [({"candidate_topk": "torch"}, torch_topk), ({}, None)]
)
def test_the_head_uses_what_the_configuration_asks_for(knob: dict[str, str], expected: Any) -> None:
    pytest.importorskip("vllm")
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor.layers.logits_processor import LogitsProcessor

    config = VllmConfig(additional_config={"qwen3090": knob})
    with set_current_vllm_config(config, check_compile=False):
        processor = LogitsProcessor(3)
    assert processor.topk is expected
    seen: list[Any] = []
    head = SimpleNamespace(
        shard_indices=SimpleNamespace(num_org_vocab_padding=0, org_vocab_start_index=0), tp_size=1
    )
    processor._apply_head = lambda *_: torch.tensor([[1.0, 5.0, 3.0]])
    processor.topk = lambda scores, k: seen.append(k) or torch_topk(scores, k)
    ids, _ = processor.get_top_k_tokens(head, torch.zeros(1, 2), 2)
    assert seen == [2] and ids.tolist() == [[1, 2]]
