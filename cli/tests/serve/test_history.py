"""The memory of failures: counted per fingerprint, said from the third on, forgotten when over."""

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.serve import exit_codes, history
from qwen3090.serve.render import Launch

from .harness import Served

Start = Callable[..., Served]
LAUNCH = Launch(("engine", "--port", "1"), {"A": "1"}, ())
DIED = exit_codes.ENGINE_DIED


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QWEN3090_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def fail(mark: str = "m", code: int = DIED, times: int = 1, ready: float = 5.0) -> None:
    for _ in range(times):
        history.note(code, "it ended", "fast", mark, ready_seconds=ready)


def count() -> int:
    found = history.last()
    return 0 if found is None else found.count


def test_the_third_failure_of_the_same_start_is_said() -> None:
    fail(times=2)
    assert history.said("m") == []
    fail()
    first, second = history.said("m")
    assert "failed 3 times in a row" in first
    assert "with status 70: it ended" in first
    assert second.startswith("next: ")
    assert history.said("another") == []


def test_another_start_counts_anew() -> None:
    fail(times=4)
    fail("another")
    assert count() == 1


def test_a_clean_stop_forgets(state: Path) -> None:
    fail(times=4)
    history.note(exit_codes.OK, "", "fast", "m")
    assert (count(), list(state.iterdir())) == (0, [])


def test_a_forced_stop_is_no_failure_and_no_success() -> None:
    fail(times=2)
    history.note(exit_codes.STOP_FORCED, "", "fast", "m")
    assert count() == 2


def test_a_server_that_was_ready_for_long_starts_a_new_row() -> None:
    fail(times=5)
    fail(ready=history.STEADY_SECONDS)
    assert count() == 1


def test_the_fingerprint_changes_with_whatever_is_started(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    same = history.fingerprint(LAUNCH, model)
    assert same == history.fingerprint(LAUNCH, model)
    os.utime(model / "config.json", (1, 1))
    marks = {
        same,
        history.fingerprint(LAUNCH, model),
        history.fingerprint(LAUNCH, None),
        history.fingerprint(Launch(LAUNCH.argv, {"A": "2"}, ()), None),
        history.fingerprint(Launch(("engine",), LAUNCH.environment, ()), None),
    }
    assert len(marks) == 5


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"count": "x"}'])
def test_a_damaged_file_is_no_failure(state: Path, text: str) -> None:
    state.mkdir()
    (state / history.NAME).write_text(text)
    assert history.last() is None
    fail()
    assert count() == 1


def test_a_directory_that_cannot_be_written_remembers_nothing(state: Path) -> None:
    state.write_text("a file in the way")
    fail()
    assert history.last() is None


def test_a_full_disk_keeps_the_last_note_and_gets_no_other_file(
    state: Path,
) -> None:
    fail()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # each write fails, as on a full disk
    try:
        fail()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in state.iterdir()] == [history.NAME]
    assert count() == 1
    fail()
    assert count() == 2


def test_every_failure_has_a_next_step() -> None:
    assert set(exit_codes.NEXT) == set(exit_codes.MEANING) - {exit_codes.OK}


def test_served_end_to_end(start: Start, tmp_path: Path) -> None:
    port = "port=1"  # equal starts: the harness gives each its own port
    for _ in range(history.ROW):
        served = start("dies-at-start", port)
        assert served.ended() == exit_codes.ENGINE_DID_NOT_START
    assert "in a row" not in served.output()
    note = json.loads((tmp_path / "state" / history.NAME).read_text())
    assert (note["code"], note["count"]) == (exit_codes.ENGINE_DID_NOT_START, history.ROW)
    assert note["reason"] == "the engine ended before it was ready, with status 7"
    served = start("dies-at-start", port)
    assert served.ended() == exit_codes.ENGINE_DID_NOT_START
    assert f"failed {history.ROW} times in a row" in served.output()
