"""Crash safety: a lock, a staging directory beside the target, and a journal of finished files.

Everything happens in ``.NAME.prepare`` next to the target; the target appears by one rename. After
a kill the next run finds the journal, verifies what is finished by its hash, and does the rest.
"""

import contextlib
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.files import write_whole


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold the target's lock; the kernel drops it when the process ends, however it ends.

    Raises:
        PrepareError: another process prepares the same target.
    """
    path = target.with_name(f".{target.name}.lock")
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(fd)
            raise PrepareError(
                f"{target}: another prepare (process {holder}) is at work on it",
                "wait for it to end, then run again",
            ) from None
        # The one before us may have removed the file between our open and our lock.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(fd).st_ino:
                break
        os.close(fd)
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


@dataclass(frozen=True)
class Done:
    """A finished file: size in bytes, SHA-256, and the relative error of what was quantized."""

    size: int
    sha256: str
    errors: dict[str, float]


class Staging:
    """The staging directory of one target and its journal."""

    def __init__(self, target: Path, key: str) -> None:
        self.root = target.with_name(f".{target.name}.prepare")
        self.files = self.root / "files"
        self._journal = self.root / "journal.json"
        self._key = key
        self._lock = threading.Lock()
        self.done: dict[str, Done] = self._read()

    def _read(self) -> dict[str, Done]:
        try:
            journal = json.loads(self._journal.read_text(encoding="utf-8"))
            if journal["key"] != self._key:
                return {}
            return {name: Done(**entry) for name, entry in journal["done"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def open(self) -> None:
        """Create the directory; drop what a run with other inputs or parameters left there."""
        if not self.done:
            self.discard()
        self.files.mkdir(parents=True, exist_ok=True)
        for path in self.files.iterdir():
            if path.name not in self.done:
                path.unlink()

    def record(self, name: str, done: Done) -> None:
        """Note a file as finished, durably."""
        with self._lock:
            self.done[name] = done
            entries = {name: vars(entry) for name, entry in sorted(self.done.items())}
            journal: dict[str, Any] = {"key": self._key, "done": entries}
            write_whole(self._journal, json.dumps(journal, indent=1).encode())

    def forget(self, name: str) -> None:
        """Drop a finished file that no longer verifies."""
        with self._lock:
            self.done.pop(name, None)
        (self.files / name).unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the whole staging directory."""
        if self.root.exists():
            shutil.rmtree(self.root)


def check_space(target: Path, needed: int) -> None:
    """Refuse when the file system of the target's parent has fewer than ``needed`` bytes free."""
    free = shutil.disk_usage(target.parent).free
    reserve = 64 << 20 if needed > 1 << 30 else 0
    if free < needed + reserve:
        raise PrepareError(
            f"{target.parent}: {free / 1e9:.2f} GB free, {(needed + reserve) / 1e9:.2f} GB needed",
            "free some space or choose another --out, then run again",
        )
