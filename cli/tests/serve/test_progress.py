"""The supervisor and an engine's progress, end to end: stalls, slow prefills, stuck requests."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.serve import exit_codes

from .harness import HERE, Served, alive, free_port, until
from .test_supervise import Systemd

Start = Callable[..., Served]


@pytest.mark.parametrize(
    ("steps", "setting", "code", "says"),
    [
        ("stall", "stall_timeout=1", exit_codes.ENGINE_STALLED, "no step has ended for"),
        ("stuck", "request_timeout=1", exit_codes.REQUEST_STUCK, "request cmpl-7 is stuck"),
    ],
)
def test_an_engine_without_progress_is_stopped(
    start: Start, steps: str, setting: str, code: int, says: str
) -> None:
    served = start("", setting, stub={"STUB_STEPS": steps})
    assert served.ended() == code, served.output()
    assert "ready after" in served.output()
    assert says in served.output()
    assert not alive(served.pid())


def test_a_long_prefill_is_left_alone(start: Start) -> None:
    """Steps end and no token comes, for several times both bounds."""
    sets = ("stall_timeout=1", "request_timeout=1")
    served = start("", *sets, stub={"STUB_STEPS": "prefill"})
    served.wait_ready()
    time.sleep(3.5)
    assert served.process.poll() is None, served.output()
    assert served.stop() == exit_codes.OK


def test_steps_feed_the_watchdog_and_a_stall_does_not(start: Start, tmp_path: Path) -> None:
    systemd = Systemd(str(tmp_path / "s"))
    env = {"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "400000"}
    served = start("", "stall_timeout=2", env=env, stub={"STUB_STEPS": "stall"})
    until(lambda: "STOPPING=1" in systemd.receive(), "STOPPING=1")
    assert served.ended() == exit_codes.ENGINE_STALLED
    lines = systemd.receive()
    assert any("STATUS=the engine is stalled" in line for line in lines)
    last = len(lines) - 1 - lines[::-1].index("WATCHDOG=1")
    assert last < lines.index("STOPPING=1")
    assert lines.count("WATCHDOG=1") >= 5, "a step may take its time: fed until stall_timeout"
    systemd.socket.close()


def test_a_silent_engine_is_stopped_in_a_terminal_too(start: Start) -> None:
    served = start("hangs", "stall_timeout=1")
    assert served.ended() == exit_codes.ENGINE_STALLED
    assert "the engine is idle and has not answered /health for" in served.output()


def test_a_command_without_progress_is_watched_by_health(start: Start) -> None:
    served = start("", "stall_timeout=1", stub={"STUB_STEPS": "none"})
    served.wait_ready()
    assert "(engine.command is set): only /health is watched" in served.output()
    time.sleep(1.5)
    assert served.stop() == exit_codes.OK


def test_our_own_engine_must_tell_its_progress(tmp_path: Path) -> None:
    """Without engine.command the scheduler of ours is expected; here the engine has none."""
    code = f"""
import os, sys
from qwen3090.config import resolve
from qwen3090.serve.render import Launch, render
from qwen3090.serve.supervise import Supervisor
port = {free_port()}
config = resolve("demo", sets=["model=/m", f"port={{port}}"], environ={{}}).config
argv = (sys.executable, {str(HERE / "stub_engine.py")!r}, "--port", str(port))
stub = {{"STUB_DIR": {str(tmp_path)!r}, "STUB_STEPS": "none"}}
launch = Launch(argv, {{**render(config, {{}}).environment, **stub}}, ())
raise SystemExit(Supervisor(config, launch, None, os.environ).run().code)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert done.returncode == exit_codes.ENGINE_NOT_AS_PINNED, done.stderr
    assert "generated a token and told no progress" in done.stderr
    assert "ready after" not in done.stderr


def test_the_runtime_directory_is_gone_afterwards(start: Start, tmp_path: Path) -> None:
    served = start()
    served.wait_ready()
    (folder,) = tmp_path.glob("qwen3090-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "engine.json").exists()
    assert served.stop() == exit_codes.OK
    assert not list(tmp_path.glob("qwen3090-*"))


def test_a_killed_engine_core_ends_the_server(start: Start) -> None:
    served = start()
    served.wait_ready()
    os.kill(served.pid(), 9)
    assert served.ended() == exit_codes.ENGINE_DIED
    assert "after it was ready, with SIGKILL" in served.output()
    until(lambda: not alive(served.pid()), "nothing is left")
