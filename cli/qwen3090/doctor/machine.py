"""Everything that doctor reads of the machine goes through here, so that tests can give another.

No method raises for what is absent or may not be read: it returns None, or an empty list.
"""

import contextlib
import datetime
import os
import resource
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qwen3090 import bounded

SMI_SECONDS = 15.0
LARGEST_TEXT = 1 << 20


@dataclass
class Machine:
    """The machine that doctor runs on.

    Attributes:
        root: what absolute paths are read below; tests give a directory of their own.
        environ: the environment.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def at(self, path: str | Path) -> Path:
        """Return where an absolute path is read."""
        return self.root / str(path).lstrip("/")

    def text(self, path: str | Path) -> str | None:
        """Return a file's text (its first MiB), None when it cannot be read."""
        try:
            with self.at(path).open("rb") as file:
                return file.read(LARGEST_TEXT).decode(errors="replace")
        except OSError:
            return None

    def exists(self, path: str | Path) -> bool:
        """Return whether something is at the path."""
        return self.at(path).exists()

    def names(self, folder: str | Path) -> list[str]:
        """Return the names in a folder, sorted; none when it cannot be read."""
        try:
            return sorted(entry.name for entry in self.at(folder).iterdir())
        except OSError:
            return []

    def may(self, path: str | Path, mode: int) -> bool:
        """Return whether this user has the right (``os.R_OK`` and its like) to the path."""
        return os.access(self.at(path), mode)

    def run(
        self, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None
    ) -> bounded.Ran:
        """Run a command for ``timeout`` seconds at most."""
        return bounded.run(argv, timeout, env)

    def which(self, program: str, path: str | None = None) -> str | None:
        """Return where PATH (or a given one) has a program."""
        return shutil.which(program, path=self.environ.get("PATH") if path is None else path)

    def free_bytes(self, path: Path) -> int | None:
        """Return the bytes that are free on the file system of a folder that exists."""
        with contextlib.suppress(OSError):
            return shutil.disk_usage(self.at(path)).free
        return None

    def open_files_limit(self) -> int:
        """Return how many files a process may have open at most, -1 for any number."""
        return resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def cores(self) -> int:
        """Return how many cores this process may run on."""
        return len(os.sched_getaffinity(0))

    def now(self) -> datetime.datetime:
        """Return the time of this machine's clock (UTC)."""
        return datetime.datetime.now(datetime.UTC)


def nearest_existing(machine: Machine, path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    while not machine.exists(path) and path != path.parent:
        path = path.parent
    return path
