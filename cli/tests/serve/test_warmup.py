"""The warm-up: which shapes it runs, that readiness waits for it, and what its failure does."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.config import resolve
from qwen3090.serve import exit_codes
from qwen3090.serve.warmup import Wave, batches, body, single, waves

from .harness import Served

Start = Callable[..., Served]


def shapes(profile: str, *sets: str) -> list[Wave]:
    return list(waves(resolve(profile, sets=sets, environ={}).config))


def test_prefill_then_a_prefix_hit_then_every_batch_greedy_and_sampled() -> None:
    found = shapes("fast")
    assert [(w.kind, w.prompt) for w in found[:4]] == [
        ("prefill", 8),
        ("prefill", 2048),
        ("prefill", 3072),
        ("prefix hit", 3072),
    ]
    assert "prefix hit" not in {w.kind for w in shapes("fast", "prefix_cache=false")}
    decoding = [(w.streams, w.sampled) for w in found[4:]]
    assert decoding == [(n, s) for n in range(1, 9) for s in (False, True)]
    assert {w.output for w in found} == {24}, "three verify blocks of 8 tokens"


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (("seats=8",), list(range(1, 9))),
        (("seats=8", "graph_sizes=[8,32]"), [1, 2, 4, 8]),
        (("seats=8", "graph_sizes=[24]"), [1, 2, 3, 4, 8]),
        (("seats=5", "eager=true"), [1, 2, 4, 5]),
    ],
)
def test_every_batch_with_a_graph_is_decoded(sets: tuple[str, ...], expected: list[int]) -> None:
    config = resolve("fast", sets=sets, environ={}).config
    assert config is not None
    assert batches(config) == expected


def test_many_seats_are_decoded_where_there_are_graphs() -> None:
    config = resolve("batch", environ={}).config
    assert config is not None
    found = batches(config)
    assert found[:4] == [1, 2, 4, 8]
    assert found[-1] == config.seats == 64
    assert {24, 40, 56} <= set(found)


def test_grammars_and_tools_once() -> None:
    config = resolve("fast", environ={}).config
    assert config is not None
    assert [(kind, path) for kind, path, _ in single(config)] == [
        ("structured output", "/v1/completions"),
        ("tools", "/v1/chat/completions"),
    ]
    without = resolve("fast", sets=["tools=false"], environ={}).config
    assert without is not None
    assert [kind for kind, _, _ in single(without)] == ["structured output"]


@pytest.mark.parametrize(("seats", "last"), [(1, 1), (5, 5), (64, 64)])
def test_the_last_wave_fills_the_seats(seats: int, last: int) -> None:
    assert shapes("fast", f"seats={seats}")[-1].streams == last


def test_it_stays_inside_the_context_and_the_temperature() -> None:
    for wave in shapes("demo", "context=64"):
        assert 1 <= wave.prompt <= 64 - wave.output
        assert not wave.sampled, "the profile says temperature 0"


def test_prompts_of_a_wave_differ() -> None:
    wave = Wave("sampling", 2, 16, 8, sampled=True)
    first, second = body(wave, 0), body(wave, 1)
    assert first["prompt"] != second["prompt"]
    assert (len(first["prompt"]), first["max_tokens"], first["top_k"]) == (16, 8, 20)


def test_ready_comes_after_the_warm_up(start: Start, tmp_path: Path) -> None:
    served = start("", "warmup=true", "seats=2")
    served.wait_ready()
    sent = [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]
    assert sent[0]["prompt"] == "Hello"
    assert len(sent) - 1 == sum(w.streams for w in shapes("demo", "seats=2")) + 2
    assert [one for one in sent if "response_format" in one or "tools" in one] == sent[-2:]
    assert served.stop() == exit_codes.OK
    assert f"warm-up of {len(sent) - 1} requests (prefill " in served.output()


def test_a_prefix_hit_sends_the_same_prompt_again(start: Start, tmp_path: Path) -> None:
    served = start("", "warmup=true", "seats=1", "prefix_cache=true", "speculation=none")
    served.wait_ready()
    sent = [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]
    assert served.stop() == exit_codes.OK
    prompts = [tuple(one["prompt"]) for one in sent[1:-2]]
    twice = [prompt for prompt in set(prompts) if prompts.count(prompt) > 1]
    assert [len(prompt) for prompt in twice] == [max(map(len, prompts))]


def test_a_failing_warm_up_ends_the_start(start: Start) -> None:
    served = start("no-warmup", "warmup=true")
    assert served.process.wait(30) == exit_codes.ENGINE_DID_NOT_START
    said = "the warm-up failed: prefill, 1 request of 8 tokens: /v1/completions: 500"
    assert said in served.output()
