"""When the watchdog is fed and when the engine is given up, rule by rule, without waiting."""

from typing import Any

import pytest
from qwen3090.serve import exit_codes
from qwen3090.serve.runtime import Progress, Slowest
from qwen3090.serve.watch import Watch

IDLE: dict[str, Any] = {
    "steps": 5,
    "step_time": 1000.0,
    "busy_since": None,
    "running": 0,
    "waiting": 0,
    "prompt_tokens": 0,
    "generated_tokens": 1,
    "kv_usage": 0.0,
    "batch_requests": 1,
    "batch_tokens": 2048,
    "slowest": None,
}


def told(**values: Any) -> Progress:
    return Progress(**IDLE | values)


def busy(**values: Any) -> Progress:
    return told(**{"busy_since": 1000.0, "running": 1} | values)


def watch(stall: float = 300, request: float = 600, now: float = 1000.0) -> Watch:
    return Watch(stall, request, now)


def test_an_idle_engine_is_fed_while_it_answers() -> None:
    found = watch()
    assert found.judge(told(), 9000).feed, "no step is due when nothing is pending"
    found.health(False, 9000)
    assert not found.judge(told(), 9001).feed
    found.health(True, 9002)
    assert found.judge(told(), 9003).feed


@pytest.mark.parametrize("progress", [None, told()])
def test_an_engine_that_stays_silent_is_given_up(progress: Progress | None) -> None:
    found = watch(now=1000)
    found.health(True, 1100)
    found.health(False, 1200)
    assert found.judge(progress, 1400).code is None
    verdict = found.judge(progress, 1401)
    assert verdict.code == exit_codes.ENGINE_STALLED
    assert "has not answered /health for 301 s (stall_timeout = 300 s)" in verdict.reason


def test_a_busy_engine_is_fed_by_its_steps_whatever_health_says() -> None:
    found = watch()
    found.health(False, 1000)
    assert found.judge(busy(step_time=9000.0), 9300).feed


def test_no_step_for_too_long_is_a_stall_that_says_what_is_stuck() -> None:
    found = watch()
    assert found.judge(busy(step_time=2000.0), 2300).feed
    verdict = found.judge(busy(step_time=2000.0, running=3, waiting=2), 2301)
    assert (verdict.code, verdict.feed) == (exit_codes.ENGINE_STALLED, False)
    for part in ("301 s", "3 running, 2 waiting", "2048 tokens of 1 requests"):
        assert part in verdict.reason


def test_a_first_step_after_a_long_rest_has_its_full_time() -> None:
    resting = busy(step_time=1000.0, busy_since=90_000.0)
    assert watch().judge(resting, 90_300).feed
    assert watch().judge(resting, 90_301).code == exit_codes.ENGINE_STALLED


def test_a_request_that_stands_still_while_steps_end_is_stuck() -> None:
    slow = Slowest("cmpl-7", "decoding", 2000.0)
    assert watch().judge(busy(step_time=2600.0, slowest=slow), 2600).feed
    verdict = watch().judge(busy(step_time=2601.0, slowest=slow), 2602)
    assert verdict.code == exit_codes.REQUEST_STUCK
    assert "request cmpl-7 is stuck: decoding and unmoved for 601 s" in verdict.reason
    never = watch(request=0)
    assert never.judge(busy(step_time=9601.0, slowest=slow), 9602).feed, "0: never"


def test_one_long_step_is_not_held_against_a_request() -> None:
    slow = Slowest("cmpl-7", "decoding", 2000.0)
    found = Watch(stall_timeout=5000, request_timeout=600, now=1000)
    assert found.judge(busy(step_time=2000.0, slowest=slow), 4000).feed
