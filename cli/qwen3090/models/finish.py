"""The end of a fetch: generated files, the marker, then one rename of the directory."""

import os
import shutil
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.models.generate import generate
from qwen3090.models.hashing import file_sha256
from qwen3090.models.manifest import ModelRepository
from qwen3090.models.store import (
    JOURNAL,
    MARKER,
    Record,
    Store,
    read_marker,
    sync_directory,
    write_marker,
)


def finish(store: Store, name: str, repository: ModelRepository) -> Path | None:
    """Turn a staging directory that has every file into the final one.

    Returns:
        Where the former directory was put, when it held files that are not ours; else None
        (a former directory that held only our files is removed).

    Raises:
        UserError: a file cannot be generated or written.
    """
    staging, final = store.staging(name), store.final(name)
    try:
        records = {}
        for entry in repository.files:
            path = staging / entry.path
            records[entry.path] = Record(entry.size, path.stat().st_mtime_ns, entry.sha256)
        for made in repository.generated:
            path = staging / made.path
            _write(path, generate(made.generated_by, staging, repository))
            stat = path.stat()
            records[made.path] = Record(stat.st_size, stat.st_mtime_ns, file_sha256(path))
        _drop_others(staging, set(records))
        write_marker(staging, repository, records)
        (staging / JOURNAL).unlink(missing_ok=True)
        kept = _set_aside(store, name)
        staging.rename(final)
        sync_directory(store.root)
        shutil.rmtree(store.root / f".{name}.old", ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"cannot finish {final}: {error.strerror} ({error.filename}); nothing is lost",
            "check the disk, then run the same command again",
        ) from None
    return kept


def foreign_files(directory: Path) -> list[Path]:
    """Return the files of a directory that its marker does not name."""
    marker = read_marker(directory)
    ours = {MARKER, JOURNAL, *(marker.files if marker else ())}
    found = (path for path in directory.rglob("*") if path.is_file() or path.is_symlink())
    return sorted(path for path in found if str(path.relative_to(directory)) not in ours)


def _set_aside(store: Store, name: str) -> Path | None:
    final = store.final(name)
    if not (final.exists() or final.is_symlink()):
        return None
    if not final.is_symlink() and not foreign_files(final):
        old = store.root / f".{name}.old"
        shutil.rmtree(old, ignore_errors=True)
        final.rename(old)
        return None
    number = 1
    while (kept := store.root / f"{name}.replaced-{number}").exists():
        number += 1
    final.rename(kept)
    return kept


def _drop_others(staging: Path, wanted: set[str]) -> None:
    """Remove what an older manifest left in staging; it is ours alone."""
    for path in staging.rglob("*"):
        name = str(path.relative_to(staging))
        if path.is_file() and name not in wanted and name not in (MARKER, JOURNAL):
            path.unlink()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new.part")
    with draft.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(path)
