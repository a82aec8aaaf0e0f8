"""Versions, device, memory, series and hooks, as the worker's own process has them."""

import hashlib
import json
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

MARKER = "vllm/.qwen3090/applied.json"


def series(_: Any) -> dict[str, Any]:
    """Return what the tree that this process imported vLLM from says of the series.

    ``hash`` is the series' (None without a marker), ``patches`` its names, ``wrong`` the files
    whose content is not what the series left, ``newer`` the files changed after this process
    started, which it may therefore not have loaded.
    """
    import vllm

    tree = Path(str(vllm.__file__)).resolve().parent.parent
    try:
        marker = json.loads((tree / MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"tree": str(tree), "hash": None, "patches": [], "wrong": [], "newer": []}
    files = [(entry["path"], entry["after"]) for entry in marker["files"]]
    return {
        "tree": str(tree),
        "hash": marker["series_hash"],
        "patches": [patch["name"] for patch in marker["patches"]],
        "wrong": [path for path, digest in files if _digest(tree / path) != digest],
        "newer": [path for path, _ in files if _changed(tree / path) > _started()],
    }


def hooks(_: Any) -> dict[str, Any]:
    """Return the self-test's answers in this very process."""
    from qwen3090_ops.selftest import selftest

    return {"hooks": [dict(hook) for hook in selftest()]}


def machine(worker: Any) -> dict[str, Any]:
    """Return versions, device and memory (bytes)."""
    import vllm

    found: dict[str, Any] = {
        "vllm": str(vllm.__version__),
        "torch": str(torch.__version__),
        "triton": _version("triton"),
        "flashinfer": _version("flashinfer-python"),
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "device": str(worker.device),
        "weights_bytes": int(getattr(worker.model_runner, "model_memory_usage", 0)),
    }
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        found |= {
            "name": torch.cuda.get_device_name(),
            "capability": ".".join(str(part) for part in torch.cuda.get_device_capability()),
            "total_bytes": total,
            "free_bytes": free,
            "reserved_bytes": torch.cuda.memory_reserved(),
            "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
            "allocated_bytes": torch.cuda.memory_allocated(),
        }
    return found


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _started() -> float:
    """Return when this process started, in seconds since the epoch (a hundredth exact)."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    uptime = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
    return time.time() - uptime + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
