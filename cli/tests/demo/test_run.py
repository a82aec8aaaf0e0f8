"""The demo's run against a stand-in server: what it prints, what it refuses, that it cleans up."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from qwen3090.demo import TinyPaths, run, server
from qwen3090.demo.story import ANSWER, REASONING
from qwen3090.errors import UserError
from qwen3090.main import cli

STUB = Path(__file__).with_name("stub_server.py")
pytest.importorskip("openai")


@pytest.fixture
def work(tmp_path: Path, tiny: TinyPaths, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setattr("qwen3090.demo.workdir.checkpoint", lambda _: (tiny, True))
    monkeypatch.setattr(run, "_prepare", lambda made, *_: made.base)
    return tmp_path / "work"


def serve(monkeypatch: pytest.MonkeyPatch, fault: str = "") -> None:
    def command(_: Path, port: int, key_file: Path) -> list[str]:
        return [sys.executable, str(STUB), str(port), str(key_file), fault]

    monkeypatch.setattr(server, "command", command)


def invoke(work: Path) -> Result:
    return CliRunner().invoke(cli, ["demo", "--work", str(work)])


def test_says_what_happened(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch)
    result = invoke(work)
    assert result.exit_code == 0, result.output
    for part in (
        f"thought: {REASONING}",
        f"answer:  {ANSWER}",
        "the same answer, in 2 pieces",
        "get_weather(city='Paris'), and an answer",
        "refused with 401",
        "3.25 tokens per step (45 of 60 drafted tokens accepted)",
        "server      stopped",
    ):
        assert part in result.output
    assert [path.name for path in work.iterdir()] == ["server.log"]  # the key is gone


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("answer", "chat: answer: got 'gibberish'"),
        ("city", "tool call: arguments: got {'city': 'Atlantis'}"),
        ("again", "number of further calls: got 1"),
        ("open", "it was answered, expected 401"),
        ("metrics", "/metrics has no counter"),
        ("dies", "code 1 before it was ready: no room on the card"),
        ("exit-code", "the server ended with code 3"),
    ],
)
def test_a_deviation_fails_with_its_reason(
    work: Path, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
) -> None:
    serve(monkeypatch, fault)
    result = invoke(work)
    assert result.exit_code == 1
    assert reason in result.output
    if fault != "metrics":
        assert "server.log" in result.output.split("error:")[1]


def test_a_server_that_stays_is_killed(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "stays")
    monkeypatch.setattr(server, "STOP_SECONDS", 0.5)
    result = invoke(work)
    assert result.exit_code == 1 and "was killed" in result.output


def test_ctrl_c_stops_the_server(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch)
    pids: list[int] = []

    def hang(up: server.Server, _: object) -> None:
        pids.append(up.process.pid)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        threading.Event().wait(20)

    monkeypatch.setattr(run, "_requests", hang)
    with pytest.raises(KeyboardInterrupt):
        run.run(work, lambda _: None)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_killed_demo_leaves_no_server(tmp_path: Path) -> None:
    code = f"""
import sys, time
from pathlib import Path
from qwen3090.demo import server
key = server.write_key(Path({str(tmp_path / "key")!r}))
port = server.free_port()
argv = [sys.executable, {str(STUB)!r}, str(port), {str(tmp_path / "key")!r}, ""]
with server.running(argv, port, key, Path({str(tmp_path / "log")!r})) as up:
    print(up.process.pid, flush=True)
    time.sleep(60)
"""
    demo = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    pid = int(demo.stdout.readline())
    demo.kill()
    demo.wait()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_file_in_the_way_is_named(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch)
    (work / "server.log").mkdir(parents=True)
    result = invoke(work)
    assert result.exit_code == 1
    assert str(work / "server.log") in result.output
    assert "next: qwen3090 demo --work" in result.output


def test_a_foreign_prepared_directory_has_one_next_step(
    tmp_path: Path, tiny: TinyPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3090.demo.workdir.checkpoint", lambda _: (tiny, True))
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / "mine").write_text("")
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert result.output.count("next:") == 1


def test_key_file_is_private(tmp_path: Path) -> None:
    key = server.write_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert len(key) >= 32 and server.write_key(tmp_path / "key") != key


def test_an_unwritable_work_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make"):
        run.run(tmp_path / "file" / "work", lambda _: None)


def test_make_and_work_exclude_each_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["demo", "--make", str(tmp_path), "--work", str(tmp_path)])
    assert result.exit_code == 2
