"""The warm-up: which shapes it runs, that readiness waits for it, and what its failure does."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.config import resolve
from qwen3090.serve import exit_codes
from qwen3090.serve.warmup import Wave, body, waves

from .harness import Served

Start = Callable[..., Served]


def shapes(profile: str, *sets: str) -> list[Wave]:
    return list(waves(resolve(profile, sets=sets, environ={}).config))


def test_every_power_of_two_of_seats_decodes_greedy_and_sampled() -> None:
    found = shapes("fast")
    assert [w.prompt for w in found[:3]] == [8, 2048, 3072]
    decoding = [(w.streams, w.sampled) for w in found[3:]]
    assert decoding == [(n, s) for n in (1, 2, 4, 8) for s in (False, True)]
    assert {w.output for w in found} == {24}, "three verify blocks of 8 tokens"


@pytest.mark.parametrize(("seats", "last"), [(1, 1), (5, 5), (64, 64)])
def test_the_last_wave_fills_the_seats(seats: int, last: int) -> None:
    assert shapes("fast", f"seats={seats}")[-1].streams == last


def test_it_stays_inside_the_context_and_the_temperature() -> None:
    for wave in shapes("demo", "context=64"):
        assert 1 <= wave.prompt <= 64 - wave.output
        assert not wave.sampled, "the profile says temperature 0"


def test_prompts_of_a_wave_differ() -> None:
    wave = Wave(2, 16, 8, sampled=True)
    first, second = body(wave, 0), body(wave, 1)
    assert first["prompt"] != second["prompt"]
    assert (len(first["prompt"]), first["max_tokens"], first["top_k"]) == (16, 8, 20)


def test_ready_comes_after_the_warm_up(start: Start, tmp_path: Path) -> None:
    served = start("", "warmup=true", "seats=2")
    served.wait_ready()
    sent = [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]
    assert sent[0]["prompt"] == "Hello"
    assert len(sent) - 1 == sum(w.streams for w in shapes("demo", "seats=2"))
    assert served.stop() == exit_codes.OK
    assert f"warm-up of {len(sent) - 1} requests" in served.output()


def test_a_failing_warm_up_ends_the_start(start: Start) -> None:
    served = start("no-warmup", "warmup=true")
    assert served.process.wait(30) == exit_codes.ENGINE_DID_NOT_START
    assert "the warm-up failed: 1 request of 8 tokens: /v1/completions: 500" in served.output()
