"""DFlash2 with an int4 drafter, and MTP on the V2 runner, its Triton kernels interpreted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TEXT = {"language_model_only": True}
GREEDY = {
    "name": "greedy",
    "prompts": [[100, 101, 102], list(range(20, 40))],
    "params": {"temperature": 0, "max_tokens": 16},
}

# More prompts than seats, so that the batch grows and shrinks while drafts are in flight.
MANY = {
    "name": "many",
    "prompts": [list(range(20 + place, 24 + 5 * place)) for place in range(6)],
    "params": {"temperature": 0, "max_tokens": 10},
}

# Drafts sampled and truncated, the target truncated without a sort.
SAMPLED = {
    "name": "sampled",
    "prompts": [[100, 101, 102], list(range(20, 40))],
    "params": {"temperature": 0.8, "top_k": 20, "top_p": 0.95, "seed": 1, "max_tokens": 8},
}


@pytest.fixture(scope="module")
def results(
    demo: Path, prepare: Callable[..., Path], engine: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    ids = demo / "overlay" / "mtp_draft_vocab_ids.pt"
    model = str(prepare(demo / "base", bits=8, draft_vocab=ids))

    def case(name: str, **speculation: Any) -> dict[str, Any]:
        llm = TEXT | ({"speculative_config": speculation} if speculation else {})
        requests = [SAMPLED] if name.startswith("sampled") else [GREEDY]
        requests = [MANY] if name.startswith("mtp by batch") else requests
        requests = [GREEDY, MANY] if name == "plain" else requests
        return {"name": name, "model": model, "llm": llm, "requests": requests}

    def dflash(folder: str) -> dict[str, Any]:
        return {"method": "dflash", "model": str(demo / folder), "num_speculative_tokens": 7}

    sampled = {"draft_sample_method": "probabilistic"}

    by_batch = {
        "method": "mtp",
        "num_speculative_tokens": 3,
        "num_speculative_tokens_per_batch_size": [[1, 1, 3], [2, 2, 1], [3, 4, 2]],
    }

    def waits(name: str) -> dict[str, Any]:
        found = case(name, **by_batch)
        return found | {"llm": found["llm"] | {"async_scheduling": False}}

    found = engine([case("plain")])
    interpreted = [
        case("int4", **dflash("drafter")),
        case("bf16", **dflash("drafter-bf16")),
        case("mtp", method="mtp", num_speculative_tokens=3, use_local_argmax_reduction=True),
        case("mtp by batch", **by_batch),
        waits("mtp by batch, one step at a time"),
        case("sampled dflash2", **dflash("drafter"), **sampled),
        case("sampled mtp", method="mtp", num_speculative_tokens=3, **sampled),
    ]
    return found | engine(interpreted, interpret=True, VLLM_USE_V2_MODEL_RUNNER="1")


def result(results: dict[str, Any], name: str) -> dict[str, Any]:
    assert "error" not in results[name], results[name]["error"]
    found: dict[str, Any] = results[name]
    return found


@pytest.mark.parametrize("name", ["int4", "bf16", "mtp"])
def test_drafts_are_accepted_and_do_not_change_the_text(results: dict[str, Any], name: str) -> None:
    ours = result(results, name)
    assert ours["facts"]["runner"] == "vllm.v1.worker.cpu.model_runner"
    assert ours["drafted"] >= ours["accepted"] > 0
    assert ours["greedy"]["tokens"] == result(results, "plain")["greedy"]["tokens"]


@pytest.mark.parametrize("name", ["mtp by batch", "mtp by batch, one step at a time"])
def test_drafts_by_batch_do_not_change_the_text(results: dict[str, Any], name: str) -> None:
    ours = result(results, name)
    assert ours["drafted"] >= ours["accepted"] > 0
    assert ours["many"]["tokens"] == result(results, "plain")["many"]["tokens"]


@pytest.mark.parametrize("name", ["int4", "bf16", "mtp"])
def test_the_drafter_uses_the_packed_embedding_and_head(results: dict[str, Any], name: str) -> None:
    facts = result(results, name)["facts"]
    assert facts["embed"] == "CompressedTensorsEmbeddingWNA16Int"
    assert facts["shares_embed"]
    assert facts["shares_head"]


def test_the_int4_drafter_is_loaded_packed(results: dict[str, Any]) -> None:
    assert result(results, "int4")["facts"]["drafter_qkv"] == "CPUWNA16LinearKernel"
    assert result(results, "bf16")["facts"]["drafter_qkv"] == "UnquantizedLinearMethod"


def test_the_context_projection_is_that_of_the_bf16_drafter(results: dict[str, Any]) -> None:
    """Both drafters come from the same weights: int4 is at most half a step away, plus rounding."""
    packed = torch.tensor(result(results, "int4")["probes"]["drafter.context"])
    dense = torch.tensor(result(results, "bf16")["probes"]["drafter.context"])
    assert packed.shape == dense.shape
    step = dense.abs().max() / 7
    assert (packed - dense).abs().max() <= 0.55 * step
    assert torch.nn.functional.cosine_similarity(packed, dense, dim=-1).min() > 0.98


@pytest.mark.parametrize("name", ["sampled dflash2", "sampled mtp"])
def test_sampled_drafts_are_accepted(results: dict[str, Any], name: str) -> None:
    found = result(results, name)
    assert found["drafted"] > 0 and found["accepted"] > 0
    assert [len(tokens) for tokens in found["sampled"]["tokens"]] == [8, 8]
