"""Progress in a log: bytes, a recent rate and the time left; messages on lines of their own."""

import io

import pytest
from qwen3090.models import progress
from qwen3090.models.progress import Progress, duration, human


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_500, "1.50 kB"),
        (19_472_791_973, "19.47 GB"),
        (2e13, "20.00 TB"),
    ],
)
def test_bytes(count: float, text: str) -> None:
    assert human(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(9.6, "10 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")]
)
def test_time(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_rate_is_recent(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    shown = Progress("fetch", 1_000_000_000, stream)
    shown.advance(500_000_000)  # found on disk: no time passed
    for _ in range(12):
        clock[0] += 10
        shown.advance(10_000_000)
    shown.say("hello")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 13
    assert lines[-2] == "fetch 620.00 MB of 1.00 GB, 1.00 MB/s, 6 min 20 s left"
    assert lines[-1] == "  hello"
