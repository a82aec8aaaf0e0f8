"""Runs the server's unit without systemd: its command, its environment, its notifications.

usage: run_unit.py UNIT NVIDIA-SMI. Folders of the service are replaced by temporary ones; the
sandbox is not applied (checks/vm does that). Fails with what did not come about.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 60.0
WATCHDOG = 3.0
URL = "http://127.0.0.1:18020"


def read_unit(path: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a unit."""
    command: list[str] = []
    environment = {}
    for line in path.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "Environment":
            name, _, text = shlex.split(value)[0].partition("=")
            environment[name] = text
        elif key == "ExecStart":
            command = shlex.split(value)
    if not command:
        raise SystemExit(f"error: {path} has no ExecStart")
    return command, environment


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise SystemExit(f"error: not within {seconds:.0f} s: {what}")


def ask(path: str, method: str = "GET") -> Any:
    """Return the stub's answer."""
    request = urllib.request.Request(URL + path, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


class Service:
    """One start of the unit, with its notification socket."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = folder / f"notify-{time.monotonic_ns()}"
        self.socket.bind(str(address))
        self.socket.setblocking(False)
        self.states: list[str] = []
        self.fed = 0.0
        notify = {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": str(int(WATCHDOG * 1e6))}
        self.process = subprocess.Popen(command, env=environment | notify, start_new_session=True)

    def read(self) -> list[str]:
        """Return every state it has sent so far."""
        while True:
            try:
                message = self.socket.recv(65536).decode()
            except BlockingIOError:
                return self.states
            self.states += message.split("\n")
            if "WATCHDOG=1" in message:
                self.fed = time.monotonic()

    def wait_ready(self) -> None:
        """Wait for READY=1; fail when the process ends before."""

        def ready() -> bool:
            if self.process.poll() is not None:
                raise SystemExit(f"error: ended with {self.process.returncode} before it was ready")
            return "READY=1" in self.read()

        until(ready, "READY=1")


def gone(pid: int) -> bool:
    """Return whether a process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def main(unit: Path, nvidia_smi: Path) -> None:
    """Start, hang, abort, start again, stop."""
    command, environment = read_unit(unit)
    folder = Path(tempfile.mkdtemp())
    for name in ("cache", "state", "bin", "dev"):
        (folder / name).mkdir()
    for name in ("nvidiactl", "nvidia-uvm", "nvidia0"):
        (folder / "dev" / name).touch()
    for name, value in environment.items():
        value = value.replace("/var/cache/qwen3090", str(folder / "cache"))
        environment[name] = value.replace("/var/lib/qwen3090", str(folder / "state"))
    (folder / "bin" / "nvidia-smi").symlink_to(nvidia_smi)
    environment["QWEN3090_DEVICE_ROOT"] = str(folder / "dev")
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"

    service = Service(command, environment, folder)
    service.wait_ready()
    about = ask("/stub/about")
    assert about["environment"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID", "the card's order is not set"
    assert "NOTIFY_SOCKET" not in about["environment"], "the engine could speak to systemd"
    until(lambda: "WATCHDOG=1" in service.read(), "the first WATCHDOG=1")

    ask("/stub/hang", "POST")
    until(
        lambda: service.read() and time.monotonic() - service.fed > WATCHDOG,
        "silence of a hung engine",
    )
    os.kill(service.process.pid, signal.SIGABRT)  # what systemd does when the watchdog expires
    service.process.wait(timeout=PATIENCE)
    until(lambda: gone(about["pid"]), "the end of the aborted supervisor's engine")

    again = Service(command, environment, folder)
    again.wait_ready()
    again.process.terminate()
    status = again.process.wait(timeout=PATIENCE)
    assert status == 0, f"a stop ended with status {status}"
    assert "STOPPING=1" in again.read(), "the stop was not announced"
    wrong = subprocess.run(
        command, env=environment | {"QWEN3090_SEATS": "none"}, capture_output=True
    )
    assert wrong.returncode == 64, f"wrong settings ended with status {wrong.returncode}"
    print("ready, fed, hung, aborted, started again, stopped, refused: as it must be")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
