"""Boots ``qwen3090 serve`` on the demo's checkpoint, with a key, and looks at its processes."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qwen3090_prepare
from qwen3090.demo import make, server
from qwen3090.serve.descend import descendants

NAME = server.SERVED_NAME
SEATS = 4
PATIENCE = 120.0


@dataclass
class Place:
    """Where a server's files are; each booted server of a run has its own."""

    folder: Path
    model: Path
    sets: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def command(self, port: int) -> list[str]:
        """Return the command that serves the checkpoint."""
        argv = server.command(self.model, port, self.folder / "key")
        return argv + [word for item in self.sets for word in ("--set", item)]

    def environ(self) -> dict[str, str]:
        """Return the environment of the server: state, runtime and cache below the folder."""
        found = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        below = {"QWEN3090_STATE": "state", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}
        for variable, name in below.items():
            (self.folder / name).mkdir(exist_ok=True)
            found[variable] = str(self.folder / name)
        return found | self.environment


@dataclass(frozen=True)
class Booted:
    """A ready server; ``seconds`` is what that took."""

    server: server.Server
    place: Place
    seconds: float

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request with the key."""
        return {"Authorization": f"Bearer {self.server.key}", "Content-Type": "application/json"}

    def progress(self) -> dict[str, Any]:
        """Return what the engine tells of itself (engine.json), once it is whole."""
        return record(self.place.folder / "run", "engine.json")

    def active(self) -> int:
        """Return how many requests are being answered."""
        return int(record(self.place.folder / "run", "server.json")["active"])

    def processes(self) -> dict[str, int]:
        """Return the server's processes by what they are."""
        return processes(self.server.process.pid)


def record(folder: Path, name: str) -> dict[str, Any]:
    """Return a record of the only runtime directory in a folder."""
    (path,) = folder.glob(f"qwen3090-*/{name}")
    while True:
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(path.read_text())
            if found["seq"] == found["end"]:
                return found


def processes(supervisor: int) -> dict[str, int]:
    """Return supervisor, guard, api, engine and worker by pid, as far as they live."""
    found = {"supervisor": supervisor}
    for pid in descendants(supervisor):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            for word, kind in (
                ("serve.guard", "guard"),
                ("openai.api_server", "api"),
                ("EngineCore", "engine"),
                ("Worker", "worker"),
            ):
                if word in line:
                    found.setdefault(kind, pid)
                    break  # the guard's command line holds the API's
    return found


def memory(pids: Mapping[str, int]) -> dict[str, float]:
    """Return resident memory by process, MiB."""
    found = {}
    for name, pid in pids.items():
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    found[name] = round(int(line.split()[1]) / 1024, 1)
    return found


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> float:
    """Wait for a condition and return the seconds that it took.

    Raises:
        TimeoutError: it did not come.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - began


def checkpoint(folder: Path) -> Path:
    """Make and prepare the demo's checkpoint below a folder."""
    made = make(folder / "demo")
    qwen3090_prepare.run(made.base, folder / "prepared", draft_vocab=made.draft_vocab)
    return folder / "prepared"


@contextlib.contextmanager
def booted(place: Place, prefix: Sequence[str] = ()) -> Iterator[Booted]:
    """Start a server, wait until it is ready, stop it on the way out.

    Args:
        place: its files.
        prefix: words before the command, as of ``unshare``.
    """
    place.folder.mkdir(parents=True, exist_ok=True)
    port, key = server.free_port(), server.write_key(place.folder / "key")
    argv = [*prefix, *place.command(port)]
    began = time.monotonic()
    with server.running(argv, port, key, place.folder / "log", place.environ()) as found:
        yield Booted(found, place, time.monotonic() - began)
