"""What nothing refers to any more: found first, shown, and removed only when the user agrees."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.models.dirlock import directory_lock
from qwen3090.models.finish import foreign_files
from qwen3090.models.manifest import NAME, Manifest
from qwen3090.models.store import MARKER, Store, read_marker


@dataclass(frozen=True)
class Garbage:
    """A directory that can go: why, the bytes that its removal frees, and the lock to hold."""

    path: Path
    name: str
    reason: str
    frees: int
    lock: Path


def find_garbage(
    manifest: Manifest, store: Store, prepared: Path, *, partial: bool, sources: bool
) -> list[Garbage]:
    """List directories of the store that neither the manifest nor a profile needs.

    Args:
        manifest: shipped and user's own; what it names is kept.
        store: models directory.
        prepared: directory of prepared checkpoints.
        partial: also unfinished fetches of repositories that the manifest names, and prepares.
        sources: also published files whose prepared checkpoint is complete.

    Only directories with the tool's marker, or with its name and its lock beside them, are listed.
    """
    found: list[tuple[Path, str, str]] = []
    for entry in sorted(store.root.iterdir()) if store.root.is_dir() else ():
        if not entry.is_dir() or entry.is_symlink():
            continue
        hidden = entry.name[1:] if entry.name.startswith(".") else ""
        name = hidden.rpartition(".")[0]
        if hidden and not (NAME.fullmatch(name) and store.lock(name).is_file()):
            continue  # a fetch never removes its lock: without one this is not ours
        if hidden.endswith(".old"):
            found.append((entry, name, "replaced by a newer fetch"))
        elif hidden.endswith(".staging"):
            if name not in manifest.repositories:
                found.append((entry, name, "unfinished, and no manifest names it"))
            elif partial:
                found.append((entry, name, "unfinished fetch"))
        elif (entry / MARKER).is_file() and entry.name not in manifest.repositories:
            marker = read_marker(entry)
            origin = f"{marker.repository}@{marker.revision[:12]}" if marker else "unknown origin"
            found.append((entry, entry.name, f"no manifest names it ({origin})"))
        elif (
            sources and (entry / MARKER).is_file() and _all_prepared(manifest, entry.name, prepared)
        ):
            found.append((entry, entry.name, "its prepared checkpoints are complete"))
    listed = [Garbage(p, name, why, _frees(p), store.lock(name)) for p, name, why in found]
    return [*listed, *(_unfinished(prepared) if partial else ())]


def _unfinished(prepared: Path) -> list[Garbage]:
    """List the staging directories of prepare (``.NAME.prepare``), each with prepare's lock."""
    found = []
    for path in sorted(prepared.glob(".*.prepare")):
        if path.is_symlink() or not path.is_dir() or not _staging_names(path):
            continue
        name = path.name[1 : -len(".prepare")]
        lock = prepared / f".{name}.lock"
        found.append(Garbage(path, name, "unfinished prepare", _frees(path), lock))
    return found


def _staging_names(path: Path) -> bool:
    """Tell whether a directory holds nothing but what prepare puts into its staging directory."""
    return all(
        entry.name == "files" or entry.name.startswith("journal.json") for entry in path.iterdir()
    )


def remove(garbage: Garbage) -> list[Path]:
    """Remove one directory: first out of sight under a hidden name, then for good.

    Returns:
        Files of the user's in it: they are kept where they are, and the directory with them.

    Raises:
        UserError: a fetch or prepare works on it, or it cannot be removed.
    """
    with directory_lock(garbage.lock, wait=False):
        doomed = garbage.path.with_name(f".{garbage.name}.old")
        marker = read_marker(garbage.path)
        theirs = foreign_files(garbage.path) if marker else []
        try:
            if marker and theirs:
                for path in (*marker.files, MARKER):
                    (garbage.path / path).unlink(missing_ok=True)
                return theirs
            if garbage.path != doomed:
                shutil.rmtree(doomed, ignore_errors=True)
                garbage.path.rename(doomed)
            shutil.rmtree(doomed)
        except OSError as error:
            raise UserError(
                f"cannot remove {garbage.path}: {error.strerror} ({error.filename})",
                "check who owns it, then run qwen3090 models gc again",
            ) from None
    return []


def _all_prepared(manifest: Manifest, name: str, prepared: Path) -> bool:
    """Tell whether every variant made from this repository stands prepared; drafters never are."""
    users = {v for v, entry in manifest.variants.items() if name in entry.repositories}
    needing = {v for v in users if manifest.variants[v].prepared_bytes}
    return bool(needing) and needing == users and all(_complete(prepared / v) for v in needing)


def _complete(directory: Path) -> bool:
    """Tell whether a prepared checkpoint has every output in the size on record."""
    try:
        data = json.loads((directory / "prepared.json").read_text(encoding="utf-8"))
        outputs = {directory / name: entry["size"] for name, entry in data["outputs"].items()}
        return bool(outputs) and all(path.stat().st_size == outputs[path] for path in outputs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _frees(directory: Path) -> int:
    """Bytes on disk of the files that have no other hard link."""
    stats = (path.lstat() for path in directory.rglob("*") if path.is_file())
    return sum(stat.st_blocks * 512 for stat in stats if stat.st_nlink == 1)
