"""A run that went wrong has no result: exit status 2, the reason, no file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qwen3090.main import cli

QUICK = ("--warmups", 0, "--repeats", 1)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("401", "HTTP 401"),
        ("500", 'HTTP 500: {"error": {"message": "the engine is dead"}}'),
        ("empty", "the answer has no token"),
        ("cut", "/v1/chat/completions: "),
        ("error", "the server broke the answer off: {'message': 'out of memory'"),
        ("stranger", "another client used the server: 2 requests ended"),
        ("busy", "is busy with 1 requests of somebody else"),
        ("lost", "the server counted 0 of our 1 requests"),
        ("cached", "32 tokens of a prompt that was never sent before"),
        ("late", "the engine decoded for 5.00 s, and its chunks arrived within 0.0"),
        ("one-chunk", "came in one chunk: no decode rate"),
    ],
)
def test_no_result(
    stub: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    reason: str,
) -> None:
    monkeypatch.setattr("qwen3090.bench.counters.SETTLE_SECONDS", 0.3)
    server = stub(fault=fault, after=2 if fault != "one-chunk" else 0)
    done = server.bench("chat", *QUICK, "--out", tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert reason in done.output
    assert not (tmp_path / "out").exists()


def test_a_failing_warm_up_counts(stub: Callable[..., Any], tmp_path: Path) -> None:
    done = stub(fault="500").bench("chat", "--out", tmp_path / "out")
    assert done.exit_code == 2 and "HTTP 500" in done.output


def test_a_wrong_key_is_named(stub: Callable[..., Any], tmp_path: Path) -> None:
    server, wrong = stub(key="right" * 4), tmp_path / "key"
    assert "next: give the server's key: --key-file" in server.bench("chat").output
    wrong.write_text("wrong" * 4 + "\n")
    done = server.bench("chat", "--key-file", wrong)
    assert done.exit_code == 2 and "HTTP 401" in done.output
    wrong.write_text("right" * 4 + "\n")
    done = server.bench("chat", "--key-file", wrong, *QUICK, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "rightright" not in (tmp_path / "out/bench.json").read_text()


def test_no_server(tmp_path: Path) -> None:
    words = ["bench", "chat", "--url", "http://127.0.0.1:9", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2 and "qwen3090 serve" in done.output


def test_a_server_started_otherwise_is_refused(stub: Callable[..., Any]) -> None:
    done = stub().bench(
        "chat", "--profile", "demo", "--set", "served_name=stub", "--set", "model=x"
    )
    assert done.exit_code == 2 and "runs with context = 4096" in done.output


def test_what_the_engine_tells_is_compared_with_the_settings(
    stub: Callable[..., Any], tmp_path: Path
) -> None:
    words = ["--profile", "demo", "--set", "served_name=stub", "--set", "model=x"]
    words += ["--set", "context=4096", *map(str, QUICK), "--out", str(tmp_path / "out")]
    told = {"settings": {"seats": 4, "prefix_cache": True}, "series": {"hash": "fedcba9876543210"}}
    done = stub(engine=told).bench("chat", *words)
    assert done.exit_code == 2 and "runs with prefix_cache = True" in done.output
    told["settings"]["prefix_cache"] = False
    done = stub(engine=told).bench("chat", *words)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "bench.md").read_text()
    assert "series fedcba987654, on no GPU" in page.splitlines()[2]


def test_another_model_is_refused(stub: Callable[..., Any]) -> None:
    done = stub().bench("chat", "--profile", "demo", "--set", "model=x")
    assert done.exit_code == 2 and "serves stub, not qwen3.8-27b" in done.output


def test_prefill_needs_the_tokenizer_here(stub: Callable[..., Any]) -> None:
    server = stub()
    server.folder.rename(server.folder.with_name("elsewhere"))
    done = server.bench("prefill", "--lengths", 64)
    assert done.exit_code == 2 and "next: --tokenizer DIR" in done.output


def test_an_unwritable_folder_is_named(stub: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = stub().bench("chat", *QUICK, "--out", tmp_path / "file" / "out")
    assert done.exit_code == 2 and "cannot write the report" in done.output
    assert "warm-up" not in done.output, "refused only after it was measured"
