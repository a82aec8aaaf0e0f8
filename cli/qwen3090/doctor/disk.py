"""Disk: room for what is still to be fetched and prepared, and file systems that suit it."""

import os
from collections.abc import Iterator
from pathlib import Path

from qwen3090 import state
from qwen3090.config import Resolved
from qwen3090.doctor.context import Context
from qwen3090.doctor.machine import Machine, nearest_existing
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.errors import UserError
from qwen3090.models.manifest import load_manifest
from qwen3090.models.need import Need, find_need
from qwen3090.models.progress import human
from qwen3090.models.room import MARGIN
from qwen3090.models.store import Store
from qwen3090.verify.report import Finding

# No measurement stands behind it: compiled kernels and graphs of vLLM, Triton and FlashInfer.
CACHE_BYTES = 4 << 30
# A prepared checkpoint shares unchanged files with the fetched one where links or reflinks exist.
LINKLESS = {"vfat", "msdos", "exfat", "fuseblk", "ntfs", "ntfs3", "9p", "drvfs", "v9fs", "cifs"}
REMOTE = {"nfs", "nfs4", "smb3", "fuse.sshfs"}
CACHES = (
    "VLLM_CACHE_ROOT",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "FLASHINFER_WORKSPACE_BASE",
)

FULL = fail(
    "disk.full",
    "what is still to be fetched and prepared does not fit",
    "free {missing} (qwen3090 models gc), or another disk: QWEN3090_STATE=DIRECTORY",
)
READ_ONLY = fail(
    "disk.denied",
    "something is still to be fetched or prepared, and this user may not write there",
    "QWEN3090_STATE=DIRECTORY qwen3090 up {profile}, or let the service do it: systemctl start "
    "qwen3090-model",
)
LINKS = warn(
    "disk.links",
    "the file system has neither hard links nor reflinks as Linux does them, or is Windows' own: "
    "unchanged files are copied, and everything is slow",
    "use a Linux file system: QWEN3090_STATE=DIRECTORY",
)
NETWORKED = warn(
    "disk.remote",
    "the models lie on another machine: each start reads them through the network",
    "use a local disk: QWEN3090_STATE=DIRECTORY",
)


def models(context: Context) -> Iterator[Finding]:
    """Compare the free space with what the profile still needs."""
    machine, folder = context.machine, state.state_dir()
    settings = context.settings
    if not isinstance(settings, Resolved):
        yield skipped("disk", "the settings cannot be read")
        return
    try:
        need = find_need(settings, load_manifest(), Store(state.models_dir()))
    except UserError as error:
        yield skipped("disk", error.message)
        return
    below = nearest_existing(machine, folder)
    bad = list(_problems(context, need, folder, below))
    yield from bad
    if not any(finding.check in (FULL.code, READ_ONLY.code) for finding in bad):
        wanted = need.download_bytes + need.prepared_bytes
        todo = f"{human(wanted)} still to fetch and prepare" if wanted else "nothing to fetch"
        free = machine.free_bytes(below)
        yield passed("disk", f"{folder}: {human(free) if free else 'unknown'} free, {todo}")


def _problems(context: Context, need: Need, folder: Path, below: Path) -> Iterator[Finding]:
    machine = context.machine
    wanted = need.download_bytes + need.prepared_bytes
    free = machine.free_bytes(below)
    if wanted and free is not None and wanted + MARGIN > free:
        missing = human(wanted + MARGIN - free)
        text = f"{folder}: {human(free)} free, {human(wanted)} still to fetch and prepare"
        yield FULL.found(text, missing=missing)
    if wanted and not machine.may(below, os.W_OK | os.X_OK):
        yield READ_ONLY.found(f"{below} may not be written to", profile=context.profile)
    kind = filesystem(machine, below)
    if kind in LINKLESS:
        yield LINKS.found(f"{folder} is on {kind}")
    if kind in REMOTE:
        yield NETWORKED.found(f"{folder} is on {kind}")


def filesystem(machine: Machine, path: Path) -> str:
    """Return the type of a folder's file system from /proc/self/mounts, empty when not found."""
    best, kind = "", ""
    for line in (machine.text("/proc/self/mounts") or "").splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


NO_ROOM = warn(
    "cache.full",
    f"less than {CACHE_BYTES >> 30} GiB are free for compiled kernels and graphs",
    "free some, or another disk: XDG_CACHE_HOME=DIRECTORY",
)
UNWRITABLE = fail(
    "cache.denied",
    "a cache may not be written to, so that each start compiles everything again",
    "ls -ld {folder} (who owns it?), then sudo chown $USER {folder}, or XDG_CACHE_HOME=DIRECTORY",
)


def caches(context: Context) -> Iterator[Finding]:
    """Check that what the first start compiles can be kept."""
    machine, environ = context.machine, context.machine.environ
    home = Path(environ.get("HOME") or "/")
    root = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    folders = [root, *(Path(environ[name]) for name in CACHES if environ.get(name))]
    bad = False
    for folder in dict.fromkeys(nearest_existing(machine, path) for path in folders):
        free = machine.free_bytes(folder)
        if not machine.may(folder, os.W_OK | os.X_OK):
            bad = True
            yield UNWRITABLE.found(f"{folder} may not be written to", folder=folder)
        elif free is not None and free < CACHE_BYTES:
            bad = True
            yield NO_ROOM.found(f"{folder}: {human(free)} free")
    if not bad:
        yield passed("cache", ", ".join(map(str, dict.fromkeys(folders))))


CHECKS = (
    Check(
        "disk",
        "Disk and memory",
        "the state directory: free space against nix/models.json, rights, file system",
        models,
        (FULL, READ_ONLY, LINKS, NETWORKED),
    ),
    Check(
        "cache",
        "Disk and memory",
        "the folders of compiled kernels: rights and free space",
        caches,
        (NO_ROOM, UNWRITABLE),
    ),
)
