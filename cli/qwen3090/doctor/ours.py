"""Tells this project's own server from other processes: it may hold the card and the port."""

import re

from qwen3090.doctor.machine import Machine

# `qwen3090 serve`, `qwen3090 up`, and `python -m qwen3090` with either.
_COMMAND = re.compile(r"(^|[/ ])qwen3090( \S+)*? (serve|up)( |$)")
_DEPTH = 8  # engine core, API server, supervisor, shell: more ancestors say nothing


def is_ours(machine: Machine, pid: int) -> bool:
    """Return whether a process, or one of its ancestors, is ``qwen3090 serve`` or ``up``."""
    for _ in range(_DEPTH):
        if pid <= 1:
            return False
        words = (machine.text(f"/proc/{pid}/cmdline") or "").replace("\0", " ").strip()
        if _COMMAND.search(words):
            return True
        parent = re.search(r"^PPid:\s*(\d+)", machine.text(f"/proc/{pid}/status") or "", re.M)
        if parent is None:
            return False
        pid = int(parent[1])
    return False
