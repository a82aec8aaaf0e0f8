"""vLLM's own sampling functions, as patched: the target without a sort, drafts truncated alike."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from qwen3090_ops.sampling.drafts import DraftTruncation
from vllm.sampling_params import SamplingParams
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p_pytorch
from vllm.v1.worker.gpu.sample import states as states_module
from vllm.v1.worker.gpu.spec_decode.speculator import DraftModelSpeculator

VOCAB = 1_000
INF = float("inf")
CPU = torch.device("cpu")
ASKED = [
    {"temperature": 0.7, "top_k": 20, "top_p": 0.9},
    {"temperature": 1.0, "top_k": 5},
    {"temperature": 0.0},
    {"temperature": 1.3, "top_k": 65, "top_p": 0.5},
]


@pytest.fixture
def states(uva: None) -> Any:
    states = states_module.SamplingStates(len(ASKED), VOCAB)
    for index, params in enumerate(ASKED):
        states.add_request(index, SamplingParams(seed=index, **params))
    states.apply_staged_writes()
    return states


def test_the_target_is_truncated_without_a_sort(
    states: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, VOCAB) * 3
    rows = torch.tensor([0, 0, 1, 1], dtype=torch.int32)
    k, p = states.get_top_k_top_p(rows, np.array([0, 1]))
    expected = apply_top_k_top_p_pytorch(logits.clone(), k, p)

    def fail(*_: Any) -> None:
        raise AssertionError("vLLM's own truncation was called")

    monkeypatch.setattr(states_module, "apply_top_k_top_p", fail)
    found = states.apply_top_k_top_p(logits.clone(), rows, np.array([0, 1]))
    assert torch.equal(found, expected)


@pytest.mark.parametrize("batch", [[0, 3], [3, 2]])
def test_a_batch_with_a_larger_top_k_is_left_to_vllm(
    states: Any, monkeypatch: pytest.MonkeyPatch, batch: list[int]
) -> None:
    monkeypatch.setattr(states_module, "apply_top_k_top_p", lambda *_: "vLLM's")
    rows = torch.tensor(batch, dtype=torch.int32)
    assert states.apply_top_k_top_p(torch.randn(2, VOCAB), rows, np.array(batch)) == "vLLM's"


def test_greedy_rows_stay_beside_truncated_ones(
    states: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states_module, "apply_top_k_top_p", None)
    logits = torch.randn(2, VOCAB)
    rows = torch.tensor([1, 2], dtype=torch.int32)
    found = states.apply_top_k_top_p(logits.clone(), rows, np.array([1, 2]))
    assert int((found[0] > -INF).sum()) == 5 and torch.equal(found[1], logits[1])


def test_a_batch_without_truncation_launches_nothing(states: Any) -> None:
    logits = torch.randn(1, VOCAB)
    rows = torch.tensor([2], dtype=torch.int32)
    assert states.apply_top_k_top_p(logits, rows, np.array([2])) is logits


def draft(model: Any, truncation: Any, rows: list[int], cache: torch.Tensor) -> torch.Tensor:
    speculator = SimpleNamespace(model=model, truncation=truncation, use_fp64_gumbel=False)
    heat = torch.tensor([params["temperature"] for params in ASKED])
    return DraftModelSpeculator.sample_draft(
        speculator,
        torch.zeros(len(rows), 8),
        torch.arange(len(rows)),
        torch.tensor(rows, dtype=torch.int32),
        heat,
        torch.arange(len(ASKED)),
        torch.tensor(1),
        cache,
    )


def truncated(logits: torch.Tensor, params: dict[str, Any]) -> torch.Tensor:
    heat = params["temperature"] or 1.0
    k = torch.tensor([params.get("top_k", VOCAB)])
    p = torch.tensor([params.get("top_p", 1.0)])
    kept = apply_top_k_top_p_pytorch(logits[None] / heat, k, p)[0] > -INF
    return logits.masked_fill(~kept, -INF)


def test_drafts_are_sampled_from_the_logits_that_are_cached(states: Any) -> None:
    torch.manual_seed(1)
    logits = torch.randn(4, VOCAB) * 3
    truncation = DraftTruncation(len(ASKED), CPU)
    truncation.update(states)
    cache = torch.full((len(ASKED), 2, VOCAB), 7.0)
    model = SimpleNamespace(compute_logits=lambda _: logits.clone())
    tokens = draft(model, truncation, [1, -1, 0, 2], cache)
    for row, state in ((0, 1), (2, 0), (3, 2)):
        expected = truncated(logits[row], ASKED[state]) if state != 2 else logits[row]
        assert torch.equal(cache[state, 1], expected)
        assert expected[tokens[row]] > -INF
    assert int(tokens[3]) == int(logits[3].argmax())  # a greedy request
    assert bool((cache[3] == 7).all()) and bool((cache[:, 0] == 7).all())


def test_a_top_k_above_the_limit_leaves_the_draft_alone(states: Any) -> None:
    logits = torch.randn(1, VOCAB)
    truncation = DraftTruncation(len(ASKED), CPU)
    truncation.update(states)
    cache = torch.empty(len(ASKED), 2, VOCAB)
    draft(SimpleNamespace(compute_logits=lambda _: logits.clone()), truncation, [3], cache)
    assert torch.equal(cache[3, 1], logits[0])


def test_a_short_vocabulary_is_truncated_before_it_is_spread(states: Any) -> None:
    torch.manual_seed(2)
    ids = torch.arange(1, VOCAB, 7)
    short = (torch.randn(1, ids.numel()) * 3).bfloat16()
    full = torch.full((1, VOCAB), -INF, dtype=torch.bfloat16).index_copy(-1, ids, short)

    def spread(rows: torch.Tensor) -> torch.Tensor:
        assert int((rows > -INF).sum()) <= 21
        return rows.new_full((len(rows), VOCAB), -INF).index_copy_(-1, ids, rows)

    model = SimpleNamespace(
        draft_vocab=SimpleNamespace(full_logits=spread),
        compute_short_logits=lambda _: short.clone(),
    )
    truncation = DraftTruncation(len(ASKED), CPU)
    truncation.update(states)
    cache = torch.empty(len(ASKED), 2, VOCAB, dtype=torch.bfloat16)
    token = draft(model, truncation, [0], cache)
    expected = truncated(full[0].float(), ASKED[0])
    assert torch.equal(cache[0, 1].float(), expected)
    assert expected[token[0]] > -INF


def test_without_truncation_drafts_are_vllms() -> None:
    logits = torch.randn(1, VOCAB)
    cache = torch.empty(len(ASKED), 2, VOCAB)
    draft(SimpleNamespace(compute_logits=lambda _: logits.clone()), None, [0], cache)
    assert torch.equal(cache[0, 1], logits[0])


def test_parameters_are_copied_when_they_change(states: Any) -> None:
    truncation = DraftTruncation(len(ASKED), CPU)
    assert truncation.top_k.tolist() == [0, 0, 0, 0]
    truncation.update(states)
    assert truncation.top_k.tolist() == [20, 5, VOCAB, 65]
    assert truncation.top_p.tolist() == pytest.approx([0.9, 1, 1, 0.5])
    truncation.top_k.fill_(9)
    truncation.update(states)
    assert truncation.top_k.tolist() == [9] * 4  # nothing changed: nothing is copied
    states.add_request(2, SamplingParams(top_p=0.25))
    states.apply_staged_writes()
    truncation.update(states)
    assert truncation.top_k.tolist() == [20, 5, VOCAB, 65]
    assert truncation.top_p.tolist() == pytest.approx([0.9, 1, 0.25, 0.5])


@pytest.mark.parametrize(
    ("knob", "sampling", "active"),
    [
        ({}, "probabilistic", True),
        ({}, "greedy", False),
        ({"draft_truncation": False}, "probabilistic", False),
    ],
)
def test_the_configuration_decides(knob: dict[str, Any], sampling: str, active: bool) -> None:
    config = SimpleNamespace(
        additional_config={"qwen3090": knob},
        speculative_config=SimpleNamespace(draft_sample_method=sampling),
        scheduler_config=SimpleNamespace(max_num_seqs=3),
    )
    found = DraftTruncation.configured(config, CPU)
    assert (found is not None) is active
    config.additional_config = {"qwen3090": {"draft_truncation": "yes"}}
    with pytest.raises(ValueError, match="draft_truncation"):
        DraftTruncation.configured(config, CPU)
