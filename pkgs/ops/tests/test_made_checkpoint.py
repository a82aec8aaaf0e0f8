"""The checkpoint of the GPU checks, made small: a DFlash2 step accepts what its ring promises."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "checks" / "gpu"))
pytest.importorskip("tokenizers")
from make_checkpoint import make
from qwen3090.demo.dims import TINY
from walks import RUNS, Walks, accepted, draftable, steps

DRAFTS, TOKENS = 7, 21  # the prefill's token, then once around the ring


def test_the_ring_accepts_its_runs_by_turns() -> None:
    ring = range(len(draftable()))
    assert sorted({accepted(place, DRAFTS) for place in ring}) == list(range(DRAFTS + 1))
    ends = [place for place in ring if not draftable()[place]]
    assert [accepted(place, DRAFTS) for place in ends] == [4, 3, 1, 0, 7]
    assert steps(ends[-1] - 1, TOKENS, DRAFTS) == list(RUNS)
    assert sum(draftable()) < TINY.selector_top_k  # the mask's own successor is one of them


def test_the_ring_leaves_the_long_cycle_as_it_is() -> None:
    walks = Walks.make(TINY)
    assert sorted(walks.successor) == list(range(TINY.vocab))
    assert walks.along(walks.ring[0], 21) == [*walks.ring, walks.ring[0]]
    around = walks.along(walks.ids[0], 10 * TINY.draft_vocab // 8 + 1)
    assert around[0] == around[-1] and len(set(around)) == len(around) - 1
    assert set(walks.ids) < set(around) and not set(walks.ring) & set(around)
    assert Walks(walks.successor, walks.ids, []).prompt(0, 9)[-1] not in walks.ring


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make(folder, TINY, "cpu")
    return folder


@pytest.mark.engine
@pytest.mark.slow
def test_a_dflash2_engine_accepts_what_is_expected(
    made: Path, prepare: Callable[..., Path], engine: Callable[..., dict[str, Any]]
) -> None:
    walks = Walks.load(made, ring=True)
    model = str(prepare(made / "base", bits=8, draft_vocab=made / "ids.pt"))
    speculation = {
        "method": "dflash",
        "model": str(made / "drafter"),
        "num_speculative_tokens": DRAFTS,
    }
    numbers = [number for number in range(40) if walks.place(number) in (0, 5, 18)] + [1]
    prompts = [walks.prompt(number, 12 + number) for number in numbers]
    params = {"temperature": 0, "max_tokens": TOKENS}
    case = {
        "name": "made",
        "model": model,
        "llm": {"speculative_config": speculation},
        "requests": [{"name": "greedy", "prompts": prompts, "params": params}],
    }
    found = engine([case], interpret=True, VLLM_USE_V2_MODEL_RUNNER="1")["made"]
    assert "error" not in found, found["error"]
    for prompt, tokens in zip(prompts, found["greedy"]["tokens"], strict=True):
        assert tokens == walks.along(prompt[-1], TOKENS + 1)[1:]
    places = [walks.place(number) for number in numbers]
    assert places.pop() is None  # the last one ends on the cycle
    right = [steps(place, TOKENS, DRAFTS) for place in places if place is not None]
    assert found["accepted"] == sum(map(sum, right)) > 0
    assert found["drafted"] == DRAFTS * (sum(map(len, right)) + TOKENS - 1)
    known = 1 + found["accepted"] * DRAFTS / found["drafted"]
    assert walks.expected([*places, None], TOKENS, DRAFTS) == pytest.approx(known)
