"""Runs ``qwen3090 serve`` with the stub engine and lets a test watch and signal it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from qwen3090.config import ServeConfig, resolve
from qwen3090.errors import UserError

HERE = Path(__file__).resolve().parent
CLI = HERE.parent.parent
PATIENCE = 30.0


def config(profile: str = "fast-mtp", *sets: str) -> ServeConfig:
    """Return checked settings of a profile, with nothing from the environment."""
    return resolve(profile, sets=sets, environ={}).require()


def refused(call: Any, *arguments: Any) -> UserError:
    """Return the error that a call ends with."""
    with pytest.raises(UserError) as caught:
        call(*arguments)
    return caught.value


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait for a condition; fail the test when it does not come."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Served:
    """One ``qwen3090 serve`` process."""

    def __init__(
        self,
        directory: Path,
        mode: str = "",
        *sets: str,
        env: Mapping[str, str] | None = None,
        stub: Mapping[str, str] | None = None,
    ) -> None:
        self.directory, self.port = directory, free_port()
        variables = {"STUB_MODE": mode, "STUB_DIR": str(directory), **(stub or {})}
        command = json.dumps([sys.executable, str(HERE / "stub_engine.py")])
        settings = [
            f"model={directory}/model",
            f"port={self.port}",
            f"engine.command={command}",
            f"engine.env={json.dumps(variables)}",
            "health_interval=0.2",
            *sets,
        ]
        options = [word for item in settings for word in ("--set", item)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("QWEN3090_")}
        environment["QWEN3090_STATE"] = str(directory / "state")
        environment["XDG_RUNTIME_DIR"] = str(directory)
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(CLI), *filter(None, [environment.get("PYTHONPATH", "")])]
        )
        self.log = directory / "log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "qwen3090",
                    "serve",
                    "demo",
                    "--unsafe-skip-checks",
                    *options,
                ],
                env=environment | dict(env or {}),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def output(self) -> str:
        """Return what was printed so far."""
        return self.log.read_text(errors="replace")

    def wait_ready(self) -> None:
        """Wait for the line that says ready."""
        until(lambda: "ready after" in self.output(), f"ready; output:\n{self.output()}")

    def pid(self, name: str = "engine") -> int:
        """Return the pid that the stub noted under a name."""
        path = self.directory / name
        return int(until(lambda: path.exists() and path.read_text(), f"the note {name}"))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal and return the exit status."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end and return the exit status."""
        return self.process.wait(timeout=PATIENCE)

    def clean_up(self) -> None:
        """End what a failed test left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for name in ("engine", "grandchild"):
            path = self.directory / name
            if path.exists() and alive(int(path.read_text())):
                os.kill(int(path.read_text()), signal.SIGKILL)
