"""Remembers why the server last failed, so that the same start, failing again, says so.

One small file in the state directory. A failure with the same fingerprint (what is started: command
line, environment, checkpoint, version) counts up; another one starts at one. A clean stop, or a
server that had been ready for an hour, ends the row.

Nothing is refused because of it: what failed may have been mended outside (a card that was busy, a
new driver), and a service manager has its own limit on starts. It is said, with the next command.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from qwen3090 import __version__, state
from qwen3090.serve import exit_codes
from qwen3090.serve.render import Launch

NAME = "last-failure.json"
ROW = 3  # failures in a row that are worth a word
STEADY_SECONDS = 3600.0  # ready for so long: a failure after it is a new matter


@dataclass(frozen=True)
class Failure:
    """The last failure.

    Attributes:
        time: when, UTC, ISO 8601.
        code: the exit status.
        reason: in words.
        profile: the profile's name.
        fingerprint: of what was started.
        count: how often in a row the same was started and failed.
    """

    time: str
    code: int
    reason: str
    profile: str
    fingerprint: str
    count: int

    def lines(self) -> list[str]:
        """Return what to say at the next start of the same."""
        step = exit_codes.NEXT.get(self.code, "qwen3090 verify PROFILE")
        return [
            f"these settings failed {self.count} times in a row, last at {self.time} "
            f"with status {self.code}: {self.reason}",
            f"next: {step.replace('PROFILE', self.profile)}",
        ]


def fingerprint(launch: Launch, model: Path | None) -> str:
    """Return 16 hex digits for what would be started; equal text means an equal start.

    The checkpoint counts by the name, size and time of its files: preparing it again changes it.
    """
    files = []
    if model is not None:
        with contextlib.suppress(OSError):
            for path in sorted(model.iterdir()):
                found = path.stat()
                files.append([path.name, found.st_size, found.st_mtime_ns])
    what = [__version__, list(launch.argv), dict(launch.environment), files]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def last() -> Failure | None:
    """Return the last failure, or None when there was none or the file cannot be read."""
    try:
        found = json.loads((state.state_dir() / NAME).read_text(encoding="utf-8"))
        failure = Failure(**found)
    except (OSError, ValueError, TypeError):
        return None
    sound = isinstance(failure.count, int) and isinstance(failure.code, int)
    return failure if sound else None


def note(code: int, reason: str, profile: str, mark: str, ready_seconds: float = 0.0) -> None:
    """Remember how a run ended; a state directory that cannot be written remembers nothing.

    Args:
        code: the exit status; OK forgets the failures, STOP_FORCED changes nothing.
        reason: in words.
        profile: the profile's name.
        mark: the fingerprint.
        ready_seconds: how long the server had been ready.
    """
    path = state.state_dir() / NAME
    with contextlib.suppress(OSError):
        if code == exit_codes.OK:
            path.unlink(missing_ok=True)
            return
        if code == exit_codes.STOP_FORCED:
            return
        before = last()
        again = before is not None and before.fingerprint == mark
        row = before.count if before is not None and again else 0
        if ready_seconds >= STEADY_SECONDS:
            row = 0
        now = datetime.now(UTC).isoformat(timespec="seconds")
        _write(path, Failure(now, code, reason[:1000], profile, mark, row + 1))


def said(mark: str) -> list[str]:
    """Return the lines to print before a start that has failed often, else none."""
    found = last()
    return found.lines() if found and found.fingerprint == mark and found.count >= ROW else []


def _write(path: Path, failure: Failure) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed below, also when the disk is full
        "w", encoding="utf-8", dir=path.parent, prefix=f".{NAME}.", delete=False
    )
    try:
        with file:
            json.dump(asdict(failure), file, indent=1)
            file.write("\n")
        os.replace(file.name, path)  # noqa: PTH105 - as one: a reader sees the old or the new
    except OSError:
        Path(file.name).unlink(missing_ok=True)
        raise
