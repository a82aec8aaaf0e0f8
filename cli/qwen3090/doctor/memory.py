"""Memory of the host: loading a checkpoint maps its files, and the engine needs its own."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, warn
from qwen3090.doctor.ports import is_running
from qwen3090.doctor.wsl import wslconfig
from qwen3090.models.manifest import load_manifest
from qwen3090.verify.report import Finding

GIB = 2**30
_SHM = Path("/dev/shm")  # noqa: S108
# An estimate: API server, engine core and PyTorch's pinned buffers beside the shard being read.
PROCESS_BYTES = 4 * GIB
# A host of 16 GB was published as having died at shard 5 of 8; what it shows is a little less.
SMALL_BYTES = 17 * GIB

ADD = "close what uses it, or add swap: sudo fallocate -l 16G /swapfile && sudo chmod 600 "
ADD += "/swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"
WINDOWS = "in %UserProfile%\\.wslconfig: [wsl2] memory=32GB, then wsl --shutdown"

SHORT = fail(
    "ram.short",
    "memory and swap that are free do not hold the checkpoint's largest file and the engine's "
    "processes",
    "{cure}",
)
SMALL = warn(
    "ram.small",
    "the host has 16 GB or less: others report that loading ended there",
    "{cure}",
)


def ram(context: Context) -> Iterator[Finding]:
    """Compare free memory and swap with what loading the checkpoint takes."""
    table = _meminfo(context)
    total, free = table.get("MemTotal", 0), table.get("MemAvailable", 0)
    swap, swap_free = table.get("SwapTotal", 0), table.get("SwapFree", 0)
    files = [f.size for r in load_manifest().repositories.values() for f in r.files]
    needed = max(files) + PROCESS_BYTES
    text = f"{_gib(free)} of {_gib(total)} free, swap {_gib(swap_free)} of {_gib(swap)}"
    given = wslconfig(context).get("memory") if context.wsl else None
    text += f", .wslconfig gives {given}" if given else ""
    cure = WINDOWS if context.wsl else ADD
    if free + swap_free < needed and not context.on_cpu and not is_running(context):
        yield SHORT.found(f"{text}; loading needs about {_gib(needed)}", cure=cure)
    elif total < SMALL_BYTES and not context.on_cpu:
        yield SMALL.found(text, cure=cure)
    else:
        yield passed("ram", text)


def _meminfo(context: Context) -> dict[str, int]:
    """Return /proc/meminfo in bytes."""
    text = context.machine.text("/proc/meminfo") or ""
    return {m[1]: int(m[2]) * 1024 for m in re.finditer(r"^(\w+):\s+(\d+) kB", text, re.M)}


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"


SHM_BYTES = 64 << 20  # what containers get unless they ask for more

NO_SHM = fail(
    "shm.missing",
    f"{_SHM} is not there or may not be written to: the engine's processes talk through it",
    "sudo mount -t tmpfs -o mode=1777 shm /dev/shm (a container: --ipc=host)",
)
SMALL_SHM = warn(
    "shm.small",
    "less than 64 MiB are free in /dev/shm",
    "sudo mount -o remount,size=2G /dev/shm (a container: --shm-size=2g)",
)


def shm(context: Context) -> Iterator[Finding]:
    """Check the shared memory that processes of the engine use."""
    machine = context.machine
    free = machine.free_bytes(_SHM)
    if not machine.may(_SHM, os.W_OK | os.X_OK) or free is None:
        yield NO_SHM.found(f"{_SHM} is missing or may not be written to")
    elif free < SHM_BYTES:
        yield SMALL_SHM.found(f"{_SHM}: {free >> 20} MiB free")
    else:
        yield passed("shm", f"{_SHM}: {_gib(free)} free")


CHECKS = (
    Check(
        "ram",
        "Disk and memory",
        "free memory and swap against the largest file of the checkpoint",
        ram,
        (SHORT, SMALL),
    ),
    Check("shm", "Disk and memory", f"{_SHM}", shm, (NO_SHM, SMALL_SHM)),
)
