"""Keep the demo's work directory: make the checkpoint once, and again only when it changed."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from qwen3090.demo import TinyPaths, make, paths
from qwen3090.errors import UserError

RECORD = "made.json"
_PARTS = ("base", "drafter", "drafter-bf16", "overlay")
_WRITES = ("numpy", "safetensors", "tokenizers", "torch")  # their versions can change the bytes


def default() -> Path:
    """Return $XDG_CACHE_HOME/qwen3090/demo, or the same below ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "qwen3090" / "demo"


def checkpoint(work: Path) -> tuple[TinyPaths, bool]:
    """Return the demo checkpoint in ``work``, made anew unless it is there and unchanged.

    Returns:
        Its paths, and whether it was reused.

    Raises:
        UserError: ``work`` holds something that the demo did not make.
    """
    record, wanted = work / RECORD, _maker_hash()
    if record.exists():
        if _read(record) == {"maker": wanted, "files": _hashes(work)}:
            return paths(work), True
    else:
        foreign = [part for part in _PARTS if (work / part).exists()]
        if foreign:
            raise UserError(
                f"{work / foreign[0]} was not made by the demo (there is no {record})",
                f"remove it, or name another directory: qwen3090 demo --work DIR (not {work})",
            )
    for part in _PARTS:
        shutil.rmtree(work / part, ignore_errors=True)
    record.unlink(missing_ok=True)
    made = make(work)
    record.write_text(json.dumps({"maker": wanted, "files": _hashes(work)}, indent=1) + "\n")
    return made, False


def _read(record: Path) -> object:
    try:
        found: object = json.loads(record.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return found


def _maker_hash() -> str:
    """Return a hash of what decides the bytes: this package's files and the writing libraries."""
    digest = hashlib.sha256()
    for name in _WRITES:
        digest.update(f"{name} {version(name)}\n".encode())
    package = Path(__file__).resolve().parent
    for path in _files(package):
        if path.suffix != ".pyc":
            digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _hashes(work: Path) -> dict[str, str]:
    """Return {relative path: sha256} of every file of the checkpoint."""
    return {
        str(path.relative_to(work)): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in _PARTS
        for path in _files(work / part)
    }


def _files(directory: Path) -> Iterator[Path]:
    return iter(sorted(path for path in directory.rglob("*") if path.is_file()))
