"""Disks without room: cache, state, log, runtime and temporary directory, before and after a start.

Each is a small file system of its own, mounted where only the server sees it (``unshare --mount``).
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from asking import Stream, body, several
from booted import SEATS, Booted, Place, booted, processes
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from report import Row

SIZES = {"cache": "1m", "state": "1m", "logs": "1m", "run": "1m", "tmp": "16m"}
TOLD = Path("told")  # where a server whose log is on a full disk prints, outside of it


def _prefix(folder: Path, full: tuple[str, ...]) -> list[str]:
    """Return the words that give a command its small file systems, some of them filled."""
    lines = ["set -e", f"cd '{folder}'"]
    for name, size in SIZES.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        lines.append(f"mount -t tmpfs -o size={size} tmpfs {name}")
    lines += [f"cat /dev/zero >{name}/fill 2>/dev/null || true" for name in full]
    log = f"{folder}/{TOLD}" if {"run", "tmp"} & set(full) else f"{folder}/logs/log"
    lines.append(f"exec \"$@\" >'{log}' 2>&1")
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *root, "--mount", "sh", "-c", "\n".join(lines), "sh"]


class Seen:
    """The small file systems, seen from outside; they stay so after their server has ended."""

    def __init__(self, at: Booted) -> None:
        inside = Path(f"/proc/{at.server.process.pid}/root{at.place.folder}")
        self._open = {name: os.open(inside / name, os.O_RDONLY) for name in SIZES}

    def fill(self) -> None:
        """Write until there is no room, not even for one byte."""
        for descriptor in self._open.values():
            fd = os.open("fill", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor)
            with contextlib.suppress(OSError):
                while True:
                    os.write(fd, bytes(4096))
            os.close(fd)

    def names(self, name: str) -> list[str]:
        """Return what is in one of them, without what filled it."""
        with os.scandir(self._open[name]) as entries:
            return sorted(each.name for each in entries if each.name != "fill")


def _ask(at: Booted) -> list[Stream]:
    return asyncio.run(several(at, [body("Hello", 16)] * 2 * SEATS))


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """Let a server end with an error, as it should in here."""
    with contextlib.suppress(UserError):
        yield


def _filled_later(place: Place, row: Row) -> None:
    """All disks fill up under a ready server; then its engine dies."""
    with _ending(), booted(place, _prefix(place.folder, ())) as at:
        seen = Seen(at)
        before = [each.text for each in _ask(at)]
        seen.fill()
        answers = _ask(at)
        errors = [each.error for each in answers if each.error]
        row.demand(not errors, f"with full disks: {errors[:1]}")
        row.demand([each.text for each in answers] == before, "other answers with full disks")
        moment = time.monotonic()
        os.kill(processes(at.server.process.pid)["engine"], signal.SIGKILL)
        status = at.server.process.wait(60)
        left = {name: seen.names(name) for name in ("state", "run")}
        row.figures["filled_later"] = {
            "ready_after_s": round(at.seconds, 1),
            "answers": len(answers) - len(errors),
            "engine_killed_exit_status": status,
            "exit_after_s": round(time.monotonic() - moment, 2),
            "left_in": left,
        }
        row.demand(status == exit_codes.ENGINE_DIED, f"with full disks: status {status}")
        row.demand(not any(left.values()), f"left behind: {left}")


def _full_before(place: Place, row: Row) -> None:
    """Cache, state and log are full when the server starts."""
    with booted(place, _prefix(place.folder, ("cache", "state", "logs"))) as at:
        answers = _ask(at)
        seen = Seen(at)
        errors = [each.error for each in answers if each.error]
        row.figures["full_before_start"] = {
            "ready_after_s": round(at.seconds, 1),
            "answers": len(answers) - len(errors),
            "left_in_state": seen.names("state"),
        }
        row.demand(not errors, f"started with full disks: {errors[:1]}")


def _no_room_to_start(place: Place, row: Row, name: str) -> None:
    """The runtime or the temporary directory is full: no server can start, and it must say why."""
    began, told = time.monotonic(), place.folder / TOLD
    with _ending(), booted(place, _prefix(place.folder, (name,))) as at:
        row.demand(False, f"ready after {at.seconds:.0f} s without room in {name}")
    said = told.read_text(errors="replace").splitlines()
    cause = [line for line in said if "No space left" in line]
    row.figures[f"no_room_in_{name}"] = {
        "refused_after_s": round(time.monotonic() - began, 1),
        "first_line_with_the_cause": cause[0].replace(str(place.folder), "")[:200] if cause else "",
        "last_line": said[-1][:200] if said else "",
    }
    row.demand(bool(cause), f"no room in {name}: nothing names the cause: {said[-1:]}")


def run(place: Place, short: bool) -> Row:
    """Run the three; the short run has the first."""
    row = Row("full-disk", "cache, state, log, runtime and temporary directory without room")
    os.environ.pop("TMPDIR", None)
    place.environment["TMPDIR"] = str(place.folder / "tmp")
    _filled_later(place, row)
    if not short:
        _full_before(place, row)
        for name in ("run", "tmp"):
            _no_room_to_start(place, row, name)
    row.held = (
        "a ready server answers as before, and ends with its status; it starts with cache, state "
        "and log full; without room in its runtime or temporary directory it does not, and the "
        "cause is said"
    )
    row.lost = "lines of the log, and the note of the last failure"
    return row
