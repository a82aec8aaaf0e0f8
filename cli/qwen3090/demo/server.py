"""Start and stop ``qwen3090 serve demo`` as a user would, for the demo's requests."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.serve import descend

READY_SECONDS = 1800.0  # a last resort: the supervisor gives up earlier (ready_timeout)
STOP_SECONDS = 60.0
SERVED_NAME = "demo"


@dataclass(frozen=True)
class Server:
    """A running server: its address, key and log."""

    port: int
    key: str
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, timeout: float = 10.0) -> str:
        """Fetch ``path`` with the key.

        Raises:
            OSError: no answer, or one with an error status.
        """
        request = urllib.request.Request(  # noqa: S310 - the address is ours
            self.url + path, headers={"Authorization": f"Bearer {self.key}"}
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
            text: str = answer.read().decode()
        return text


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def write_key(path: Path) -> str:
    """Write a new random key to ``path``, readable by the owner alone, and return it."""
    key = secrets.token_urlsafe(24)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(key + "\n")
    return key


def command(model: Path, port: int, key_file: Path) -> list[str]:
    """Return the command that serves ``model``."""
    settings = {
        "model": model,
        "port": port,
        "api_key_file": key_file,
        "served_name": SERVED_NAME,
    }
    pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [sys.executable, "-m", "qwen3090", "serve", "demo", *pairs]


@contextlib.contextmanager
def running(
    argv: Sequence[str], port: int, key: str, log: Path, environ: Mapping[str, str] = os.environ
) -> Iterator[Server]:
    """Start a server, wait until the supervisor says it is ready, and stop it on the way out.

    The supervisor says so as to systemd: READY=1 to the socket named by NOTIFY_SOCKET. It runs
    in a process group of its own, so that Ctrl-C reaches it once, as SIGTERM from here.

    Raises:
        UserError: it ended early, was not ready in time, or did not stop well.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="qwen3090-"))
        notes = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        notes.bind(f"{folder}/notify")
        notes.settimeout(0.5)
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environ, "NOTIFY_SOCKET": f"{folder}/notify"},
                start_new_session=True,
                preexec_fn=descend.die_with_parent,  # also when this process is killed
            )
        server = Server(port, key, log, process)
        try:
            _wait_until_ready(server, notes)
            yield server
        except BaseException:
            with contextlib.suppress(UserError):
                stop(server)
            raise
        stop(server)


def _wait_until_ready(server: Server, notes: socket.socket) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            if b"READY=1" in notes.recv(4096).split(b"\n"):
                return
        code = server.process.poll()
        if code is not None:
            raise UserError(
                f"the server ended with code {code} before it was ready{_reason(server.log)}",
                f"read {server.log}",
            )
    raise UserError(f"the server was not ready within {READY_SECONDS:.0f} s", f"read {server.log}")


def _reason(log: Path) -> str:
    """Return the supervisor's own error from its log, after a colon, or nothing."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [line.split(": ", 1)[1] for line in lines if line.startswith(("error: ", "qwen3090: "))]
    return f": {found[-1]}" if found else ""


def stop(server: Server) -> None:
    """Send SIGTERM to the supervisor and wait for it; kill the whole group if it stays.

    Raises:
        UserError: it had to be killed, or it ended with an error code.
    """
    process = server.process
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise UserError(
            f"the server did not stop within {STOP_SECONDS:.0f} s of SIGTERM and was killed",
            f"read {server.log}",
        ) from None
    if code not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
        raise UserError(f"the server ended with code {code}", f"read {server.log}")
