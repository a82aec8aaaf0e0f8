"""The supervisor end to end, with a stub in place of vLLM: start, readiness, stop, faults."""

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.serve import exit_codes

from .harness import Served, alive, until

Start = Callable[..., Served]
KEY = "a-key-that-must-not-leak"


def key_file(directory: Path, text: str = KEY) -> Path:
    path = directory / "key"
    path.write_text(text + "\n")
    path.chmod(0o600)
    return path


def test_ready_after_a_token_and_clean_stop(start: Start, tmp_path: Path) -> None:
    served = start()
    served.wait_ready()
    assert (tmp_path / "token").exists()
    assert served.stop() == exit_codes.OK
    assert (tmp_path / "drained").exists()
    assert not alive(served.pid())
    assert "stopped" in served.output()


def test_output_passes_through_unchanged(start: Start) -> None:
    served = start()
    served.wait_ready()
    served.stop()
    assert "stub: starting\n" in served.output()
    assert "stub: a line on stderr \x1b[31min colour\x1b[0m\n" in served.output()


def test_slow_start_is_waited_for(start: Start, tmp_path: Path) -> None:
    served = start("slow")
    served.wait_ready()
    assert served.stop() == exit_codes.OK


def test_a_key_from_a_file_is_in_no_environment(start: Start, tmp_path: Path) -> None:
    path = key_file(tmp_path, f"# two keys\n{KEY}\n\n{KEY}-of-somebody-else")
    served = start("", f"api_key_file={path}", env={"VLLM_API_KEY": "a-key-that-is-not-used"})
    served.wait_ready()
    found = json.loads((tmp_path / "env").read_text())
    assert json.loads(found["QWEN3090_API"])["keys"] == str(path)
    assert "VLLM_API_KEY" not in found
    assert "ignored: VLLM_API_KEY" in served.output()
    assert KEY not in (tmp_path / "argv").read_text()
    guard = int(Path(f"/proc/{served.pid()}/stat").read_text().rpartition(")")[2].split()[1])
    for pid in (served.process.pid, guard, served.pid()):
        assert KEY.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        assert KEY.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    served.stop()
    assert KEY not in served.output()


def test_a_key_from_the_environment_reaches_the_engine_alone(start: Start, tmp_path: Path) -> None:
    served = start(env={"VLLM_API_KEY": KEY})
    served.wait_ready()
    found = json.loads((tmp_path / "env").read_text())
    assert found["QWEN3090_API_KEYS"] == KEY
    assert json.loads(found["QWEN3090_API"])["keys"] == "environment"
    assert "VLLM_API_KEY" not in found
    assert "API key: required" in served.output()
    guard = int(Path(f"/proc/{served.pid()}/stat").read_text().rpartition(")")[2].split()[1])
    assert KEY.encode() not in Path(f"/proc/{guard}/environ").read_bytes()
    served.stop()
    assert KEY not in served.output()


@pytest.mark.parametrize("text", ["short", "# nothing", f"{KEY}\nnot a key, though long enough"])
def test_a_bad_key_refuses_to_start_and_is_not_shown(
    start: Start, tmp_path: Path, text: str
) -> None:
    served = start("", f"api_key_file={key_file(tmp_path, text)}")
    assert served.ended() == exit_codes.BAD_CONFIGURATION
    assert str(tmp_path / "key") in served.output()
    assert text.splitlines()[-1] not in served.output()
    assert not (tmp_path / "engine").exists()


def test_the_key_comes_from_systemds_credentials(start: Start, tmp_path: Path) -> None:
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "api-key").write_text(KEY)
    (tmp_path / "credentials" / "api-key").chmod(0o400)
    served = start(env={"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")})
    served.wait_ready()
    found = json.loads((tmp_path / "env").read_text())
    credential = str(tmp_path / "credentials" / "api-key")
    assert json.loads(found["QWEN3090_API"])["keys"] == credential
    assert "CREDENTIALS_DIRECTORY" not in found


def test_inherited_engine_variables_do_not_reach_the_engine(start: Start, tmp_path: Path) -> None:
    served = start(env={"VLLM_ATTENTION_BACKEND": "X", "VLLM_LOGGING_LEVEL": "DEBUG"})
    served.wait_ready()
    found = json.loads((tmp_path / "env").read_text())
    assert "VLLM_ATTENTION_BACKEND" not in found
    assert found["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert "ignored: VLLM_ATTENTION_BACKEND" in served.output()


@pytest.mark.parametrize(
    ("mode", "sets", "code", "says"),
    [
        (
            "dies-at-start",
            (),
            exit_codes.ENGINE_DID_NOT_START,
            "before it was ready, with status 7",
        ),
        ("dies-after-ready", (), exit_codes.ENGINE_DIED, "after it was ready, with status 3"),
        ("never-ready", ("ready_timeout=2",), exit_codes.NOT_READY_IN_TIME, "ready_timeout = 2 s"),
        ("no-token", ("ready_timeout=2",), exit_codes.NOT_READY_IN_TIME, "500"),
        ("plugin", (), exit_codes.ENGINE_NOT_AS_PINNED, "Failed to load plugin qwen3090"),
    ],
)
def test_faults_end_with_their_own_status(
    start: Start, mode: str, sets: tuple[str, ...], code: int, says: str
) -> None:
    served = start(mode, *sets)
    assert served.ended() == code, served.output()
    assert says in served.output()
    assert not alive(served.pid())


def test_a_command_that_does_not_exist(start: Start) -> None:
    served = start("", 'engine.command=["/nonexistent/engine"]')
    assert served.ended() == exit_codes.ENGINE_DID_NOT_START
    assert "cannot start /nonexistent/engine" in served.output()


def test_running_requests_are_drained(start: Start, tmp_path: Path) -> None:
    served = start("", f"engine.env={json.dumps({'STUB_DIR': str(tmp_path), 'STUB_DRAIN': '1.5'})}")
    served.wait_ready()
    assert served.stop() == exit_codes.OK
    assert (tmp_path / "drained").exists()


def test_an_engine_that_ignores_sigterm_is_killed(start: Start) -> None:
    served = start("stubborn", "shutdown_timeout=0", "kill_timeout=1")
    served.wait_ready()
    assert served.stop() == exit_codes.STOP_FORCED
    assert not alive(served.pid())


def test_a_second_signal_kills(start: Start, tmp_path: Path) -> None:
    served = start("stubborn")
    served.wait_ready()
    served.process.send_signal(signal.SIGINT)
    until(lambda: (tmp_path / "ignored").exists(), "the engine saw SIGTERM")
    assert served.stop(signal.SIGINT) == exit_codes.STOP_FORCED
    assert not alive(served.pid())


def test_a_stop_during_the_start_is_clean(start: Start) -> None:
    served = start("never-ready")
    until(lambda: "stub: starting" in served.output(), "the engine started")
    until(lambda: (served.directory / "env").exists(), "the engine runs")
    assert served.stop() == exit_codes.OK


def test_grandchildren_in_other_sessions_end_too(start: Start) -> None:
    served = start("grandchild")
    served.wait_ready()
    grandchild = served.pid("grandchild")
    assert alive(grandchild)
    assert served.stop() == exit_codes.OK
    assert not alive(grandchild)


@pytest.mark.parametrize("victim", ["supervisor", "guard"])
def test_a_killed_parent_leaves_nothing_behind(start: Start, victim: str) -> None:
    served = start("grandchild")
    served.wait_ready()
    engine, grandchild = served.pid(), served.pid("grandchild")
    guard = int(Path(f"/proc/{engine}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard if victim == "guard" else served.process.pid, signal.SIGKILL)
    for pid in (engine, grandchild, guard):
        until(lambda pid=pid: not alive(pid), f"{pid} ended")
    if victim == "guard":
        assert served.ended() == exit_codes.ENGINE_DIED


class Systemd:
    """The receiving end of sd_notify."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.settimeout(0.1)
        self.lines: list[str] = []

    def receive(self) -> list[str]:
        try:
            while True:
                self.lines += self.socket.recv(65536).decode().splitlines()
        except TimeoutError:
            return self.lines


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Systemd:
    name = f"@qwen3090-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "s")
    return Systemd(name)


def test_systemd_is_told(start: Start, systemd: Systemd, tmp_path: Path) -> None:
    served = start(env={"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "1000000"})
    until(lambda: "READY=1" in systemd.receive(), "READY=1")
    assert (tmp_path / "token").exists()
    until(lambda: systemd.receive().count("WATCHDOG=1") >= 3, "three watchdog messages")
    assert "NOTIFY_SOCKET" not in json.loads((tmp_path / "env").read_text())
    assert served.stop() == exit_codes.OK
    lines = systemd.receive()
    assert lines.index("READY=1") < lines.index("STOPPING=1")
    assert any(line.startswith("STATUS=ready at") for line in lines)
    systemd.socket.close()


def test_a_hanging_engine_starves_the_watchdog(start: Start, tmp_path: Path) -> None:
    systemd = Systemd(str(tmp_path / "s"))
    served = start("hangs", env={"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "400000"})
    served.wait_ready()
    until(lambda: "does not answer /health" in served.output(), "the hang was noticed")
    systemd.receive()
    fed = systemd.lines.count("WATCHDOG=1")
    until(lambda: any("not answering" in line for line in systemd.receive()), "STATUS")
    for _ in range(10):
        systemd.receive()
    assert systemd.lines.count("WATCHDOG=1") == fed
    assert served.process.poll() is None
    systemd.socket.close()


def test_nothing_heavy_is_imported() -> None:
    import subprocess
    import sys

    code = (
        "import sys, qwen3090.commands.serve, qwen3090.serve.supervise, qwen3090.serve.gates;"
        "bad = {'torch', 'vllm', 'transformers', 'numpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
