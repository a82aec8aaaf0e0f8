"""``cold-start`` times a start that is known, with caches that are empty and then kept."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.bench.suites import coldstart
from qwen3090.errors import UserError
from qwen3090.main import cli

WORDS = ["bench", "cold-start", "--profile", "demo", "--set", "model=/model"]


def test_times_of_a_known_start(
    stub: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, seen = stub(ttft=0.4), []

    @contextlib.contextmanager
    def running(
        argv: Sequence[str], port: int, key: str, log: Path, environ: Mapping[str, str]
    ) -> Iterator[Any]:
        folder = Path(environ["TRITON_CACHE_DIR"])
        seen.append((list(argv), port, environ["VLLM_CACHE_ROOT"], folder.exists()))
        folder.mkdir(exist_ok=True)
        time.sleep(0.5)
        yield SimpleNamespace(url=server.url)

    monkeypatch.setattr(coldstart.server, "running", running)
    done = CliRunner().invoke(cli, [*WORDS, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    (suite,) = json.loads((tmp_path / "out/bench.json").read_text())["suites"]
    assert [row["name"] for row in suite["rows"]] == ["empty caches", "full caches"]
    for row, answer in zip(suite["rows"], server.sent(), strict=True):
        (sample,) = row["samples"]
        ttft = answer["sent"][0][0] - answer["received"]
        assert 0.5 <= sample["ready"] < 1.5
        assert sample["ready"] + ttft <= sample["first_token"] < sample["ready"] + ttft + 0.5
    (first, second) = seen
    assert "demo" in first[0] and "model=/model" in first[0] and f"port={first[1]}" in first[0]
    assert (first[3], second[3]) == (False, True) and first[2] == second[2]
    assert not Path(first[2]).parent.exists()  # nothing is left


def test_a_server_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def running(*_: object) -> Any:
        raise UserError("the server ended with code 67 before it was ready")

    monkeypatch.setattr(coldstart.server, "running", running)
    done = CliRunner().invoke(cli, [*WORDS, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "ended with code 67" in done.output
    assert not (tmp_path / "out").exists()
