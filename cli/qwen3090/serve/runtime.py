"""The folder through which supervisor and engine tell each other things: progress, and "drain".

The engine's side, with the same names and length, is qwen3090_ops/progress.py (a test compares
them); the two packages do not import each other.
"""

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError
from qwen3090.serve import exit_codes

VARIABLE = "QWEN3090_RUNTIME_DIR"
ENGINE = "engine.json"
SERVER = "server.json"
DRAIN = "drain"
LENGTH = 1024
_ATTEMPTS = 20  # a record is read again when it is caught half written


@dataclass(frozen=True)
class Slowest:
    """The request that has not moved for longest (qwen3090_ops/account.py says what moving is)."""

    name: str
    state: str
    since: float


@dataclass(frozen=True)
class Progress:
    """What the engine last told; times are CLOCK_MONOTONIC in seconds.

    Attributes:
        steps: engine steps that ended since its start.
        step_time: when the last one ended, 0 before the first.
        busy_since: when work arrived at an idle engine, None while idle.
        running: requests that have a seat.
        waiting: requests that have none yet.
        prompt_tokens: prompt tokens computed.
        generated_tokens: tokens generated.
        kv_usage: used share of the KV pool, 0 to 1.
        batch_requests: requests of the step scheduled last.
        batch_tokens: its tokens.
        slowest: the request that has not moved for longest, if any is unfinished.
    """

    steps: int
    step_time: float
    busy_since: float | None
    running: int
    waiting: int
    prompt_tokens: int
    generated_tokens: int
    kv_usage: float
    batch_requests: int
    batch_tokens: int
    slowest: Slowest | None


class Runtime:
    """A folder of this server's own, gone when it is closed.

    It is made in $RUNTIME_DIRECTORY (systemd), else $XDG_RUNTIME_DIR, else the temporary directory.

    Raises:
        UserError: it cannot be made, or its disk has no room for what is told: the engine would
            end because of that, much later.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        given = environ.get("RUNTIME_DIRECTORY", "").split(":")[0] or environ.get("XDG_RUNTIME_DIR")
        usable = given if given and os.access(given, os.W_OK | os.X_OK) else tempfile.gettempdir()
        try:
            self.path = Path(tempfile.mkdtemp(prefix="qwen3090-", dir=usable))
            try:
                _probe(self.path / "room")
            except OSError:
                self.close()
                raise
        except OSError as error:
            raise UserError(
                f"{usable}: no place for what the engine tells of itself: {error.strerror}",
                f"df {usable}, or name another directory as XDG_RUNTIME_DIR",
                exit_code=exit_codes.ENGINE_DID_NOT_START,
            ) from error

    @property
    def environment(self) -> dict[str, str]:
        """Return the variable that tells the engine where the folder is."""
        return {VARIABLE: str(self.path)}

    def progress(self) -> Progress | None:
        """Return what the engine last told, or None when it has told nothing."""
        found = _read(self.path / ENGINE)
        if found is None:
            return None
        names = Progress.__dataclass_fields__
        values = {key: value for key, value in found.items() if key in names}
        slowest = values["slowest"]
        if slowest is not None:
            slowest = Slowest(slowest["id"], slowest["state"], slowest["since"])
        return Progress(**values | {"slowest": slowest})

    def active_requests(self) -> int | None:
        """Return how many requests are being answered, or None when nobody counts them."""
        found = _read(self.path / SERVER)
        return None if found is None else int(found["active"])

    def ask_to_drain(self) -> None:
        """Have new requests refused with 503 from now on."""
        with contextlib.suppress(OSError):  # a full or removed folder: the engine stops anyway
            (self.path / DRAIN).touch()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)


def _probe(path: Path) -> None:
    """Write and remove as much as the records take; OSError without room for it."""
    path.write_bytes(bytes(2 * LENGTH))
    path.unlink()


def _read(path: Path) -> dict[str, Any] | None:
    """Return a whole record; None when there is none (yet)."""
    for _ in range(_ATTEMPTS):
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(ValueError):
            found = json.loads(data)
            if isinstance(found, dict) and found.get("seq") == found.get("end"):
                return found
        if not data:
            return None
        time.sleep(0.001)
    return None
