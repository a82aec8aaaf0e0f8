"""The runtime directory: where it is made, and reading records that are being written."""

import json
import resource
import signal
import threading
from pathlib import Path

import pytest
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes, runtime
from qwen3090.serve.runtime import Runtime

from .test_watch import IDLE


def write(folder: Path, name: str, seq: int, end: int, **values: object) -> None:
    text = json.dumps({"seq": seq, **values, "end": end})
    (folder / name).write_text(text.ljust(runtime.LENGTH))


@pytest.mark.parametrize("variable", ["RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"])
def test_where_it_is(variable: str, tmp_path: Path) -> None:
    found = Runtime({variable: str(tmp_path)})
    assert found.path.parent == tmp_path
    assert found.environment == {"QWEN3090_RUNTIME_DIR": str(found.path)}
    found.close()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_not_used(tmp_path: Path) -> None:
    found = Runtime({"XDG_RUNTIME_DIR": str(tmp_path / "absent")})
    assert found.path.is_dir()
    found.close()


def test_a_disk_without_room_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (runtime.LENGTH, hard))  # as on a full disk
    try:
        with pytest.raises(UserError, match=f"{tmp_path}: no place.*: File too large") as caught:
            Runtime({"RUNTIME_DIRECTORY": str(tmp_path)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.exit_code == exit_codes.ENGINE_DID_NOT_START
    assert list(tmp_path.iterdir()) == []


def test_nothing_told_yet(tmp_path: Path) -> None:
    found = Runtime({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert (found.progress(), found.active_requests()) == (None, None)
    (found.path / runtime.ENGINE).touch()
    assert found.progress() is None


def test_a_record_caught_half_written_is_read_again(tmp_path: Path) -> None:
    found = Runtime({"XDG_RUNTIME_DIR": str(tmp_path)})
    slowest = {"id": "cmpl-1", "state": "waiting", "since": 4.0}
    values = IDLE | {"steps": 9, "slowest": slowest, "pid": 7, "time": 3.0}
    write(found.path, runtime.ENGINE, 5, 4, **values)
    assert found.progress() is None
    repair = threading.Timer(0.005, write, (found.path, runtime.ENGINE, 5, 5), values)
    repair.start()
    progress = None
    while progress is None:
        progress = found.progress()
    assert progress.steps == 9
    assert progress.slowest is not None
    assert (progress.slowest.name, progress.slowest.since) == ("cmpl-1", 4.0)
    found.close()
