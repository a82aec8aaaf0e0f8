"""Finds and kills every descendant of a process, so that no engine core outlives its server."""

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Make orphaned descendants children of this process instead of init's."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends (call after fork)."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _parents() -> dict[int, int]:
    """Return parent by pid for every process that is not a zombie."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            # "pid (comm) state ppid ...": comm may hold spaces and brackets.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] not in "ZX":
                found[int(entry.name)] = int(fields[1])
    return found


def descendants(root: int) -> list[int]:
    """Return the pids below ``root``, nearest first, ``root`` not included."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def kill_descendants(root: int, timeout: float = 10.0) -> bool:
    """Kill everything below ``root`` (SIGKILL) until nothing is left; return whether that worked.

    ``root`` must be a subreaper, or processes whose parent died escape.
    """
    deadline = time.monotonic() + timeout
    while alive := descendants(root):
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        reap()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def reap() -> None:
    """Collect ended children without waiting."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
