"""Can the caches of compiled kernels be written, and is there room: vLLM's, Triton's, FlashInfer's?

Without them every start compiles everything again, or dies in the middle of it.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from qwen3090.verify.report import Finding, Status

ROOM = 1 << 30  # bytes below which a warning is due: a compile cache must never end a start


def cache_directories(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return the directory of each cache, as its owner finds it in an environment."""
    home = Path(environ.get("HOME") or Path.home())
    general = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    return {
        "vllm": Path(environ.get("VLLM_CACHE_ROOT") or general / "vllm").expanduser(),
        "triton": Path(environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache"),
        "flashinfer": Path(environ.get("FLASHINFER_WORKSPACE_BASE") or home) / ".cache/flashinfer",
    }


def check_caches(environ: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Yield one finding a cache; nothing is created.

    Args:
        environ: the environment that the engine would get; the process's own by default.
    """
    for name, path in cache_directories(os.environ if environ is None else environ).items():
        yield _check(f"cache.{name}", path)


def _check(check: str, path: Path) -> Finding:
    there = next(each for each in (path, *path.parents) if each.exists())
    if not there.is_dir():
        text = f"{path}: {there} is no directory"
        return Finding(check, Status.FAIL, text, f"rm {there}")
    if not os.access(there, os.W_OK | os.X_OK):
        text = f"{path} cannot be written: {there} is not this user's"
        return Finding(check, Status.FAIL, text, f"sudo chown -R $USER {there}")
    free = shutil.disk_usage(there).free
    if free < ROOM:
        text = f"{path}: {free / 2**20:.0f} MiB are free"
        return Finding(check, Status.WARN, text, f"free space: df -h {there}")
    return Finding(check, Status.PASS, f"{path}: writable, {free / 2**30:.0f} GiB free")
