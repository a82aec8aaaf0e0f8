"""Changes many files as one: all or nothing, also over an exception, a full disk or a kill.

Every new file is staged and every old one copied inside the tree before the first rename,
and a journal names them. The journal's removal is the commit; whoever finds one undoes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from qwen3090.patches.errors import PatchError
from qwen3090.patches.parse import STATE_DIR
from qwen3090.patches.record import digest


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the tree's lock; a second process waits.

    Raises:
        OSError: the tree cannot be written.
    """
    state = root / STATE_DIR
    state.mkdir(exist_ok=True)
    with (state / "lock").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def shared(root: Path) -> Iterator[None]:
    """Hold the tree's lock for reading where there is one; writes nothing."""
    try:
        handle = (root / STATE_DIR / "lock").open("r")
    except OSError:
        yield
        return
    with handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield


def interrupted(root: Path) -> bool:
    """Return whether a change was cut short and not undone yet."""
    return (root / STATE_DIR / "journal.json").exists()


def commit(root: Path, changes: Mapping[str, bytes | None]) -> None:
    """Write every file of ``changes`` (None deletes) or none. Call it under `locked`.

    Raises:
        OSError: a write failed; the tree is as it was.
    """
    state = root / STATE_DIR
    _clean(state)
    changed = {p: d for p, d in sorted(changes.items()) if _read(root / p) != d}
    if not changed:
        return
    try:
        _stage(root, state, changed)
    except BaseException:
        _clean(state)
        raise
    try:
        _rename(root, state, changed)
        (state / "journal.json").unlink()
    except BaseException:
        recover(root)
        raise
    _finish(state)


def recover(root: Path) -> bool:
    """Undo a change that was cut short, if there is one. Call it under `locked`.

    Returns:
        Whether there was one.

    Raises:
        PatchError: the journal is damaged.
        OSError: a file could not be put back; calling again goes on where it stopped.
    """
    state = root / STATE_DIR
    journal = state / "journal.json"
    if not journal.exists():
        _clean(state)
        return False
    try:
        entries = json.loads(journal.read_text(encoding="utf-8"))["files"]
        undo = [(str(e["path"]), e["before"], state / "undo" / str(e["copy"])) for e in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise PatchError(
            f"{journal} is damaged: {error}", "reinstall vLLM: qwen3090 setup --repair"
        ) from error
    for path, before, copy in undo:
        target = root / path
        if before is None:
            target.unlink(missing_ok=True)
        elif os.path.lexists(copy):
            target.parent.mkdir(parents=True, exist_ok=True)
            copy.replace(target)
        elif digest(_read(target)) != before:
            raise PatchError(
                f"{target} was cut short in a change and its copy is gone",
                "reinstall vLLM: qwen3090 setup --repair",
                path=path,
            )
        _after(root, target)
    _sync_parents(root, [path for path, _, _ in undo])
    journal.unlink()
    _finish(state)
    return True


def _finish(state: Path) -> None:
    """Tidy up once the journal is gone: what fails here is tidied by the next call instead.

    The copies go only after the journal's removal is on disk, for a journal needs them.
    """
    with suppress(OSError):
        _sync(state)
        _clean(state)


def _stage(root: Path, state: Path, changed: Mapping[str, bytes | None]) -> None:
    entries = []
    for folder in ("new", "undo"):
        (state / folder).mkdir()
    for index, (path, data) in enumerate(changed.items()):
        target = root / path
        existed = os.path.lexists(target)
        if existed:
            copy = state / "undo" / str(index)
            shutil.copy2(target, copy, follow_symlinks=False)
            _sync(copy) if not copy.is_symlink() else None
        if data is not None:
            new = state / "new" / str(index)
            _write(new, data)
            new.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        before = digest(_read(target)) if existed else None
        entries.append({"path": path, "before": before, "copy": str(index)})
    _sync(state / "new")
    _sync(state / "undo")
    draft = state / "journal.draft"
    _write(draft, json.dumps({"files": entries}).encode())
    draft.replace(state / "journal.json")
    _sync(state)


def _rename(root: Path, state: Path, changed: Mapping[str, bytes | None]) -> None:
    for index, (path, data) in enumerate(changed.items()):
        target = root / path
        if data is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            (state / "new" / str(index)).replace(target)
        _after(root, target)
    _sync_parents(root, list(changed))


def _after(root: Path, target: Path) -> None:
    """Remove a module's stale bytecode, and folders that are empty now (a wheel has none)."""
    if target.suffix == ".py":
        for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
            stale.unlink(missing_ok=True)
    folder = target.parent
    if not folder.is_dir():
        return
    cache = folder / "__pycache__"
    if cache.is_dir() and not any(cache.iterdir()):
        cache.rmdir()
    while folder not in (root, root / "vllm", root / STATE_DIR) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _clean(state: Path) -> None:
    """Remove what was staged and never used."""
    for name in ("new", "undo"):
        if (state / name).exists():
            shutil.rmtree(state / name)
    (state / "journal.draft").unlink(missing_ok=True)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_parents(root: Path, paths: list[str]) -> None:
    for folder in {(root / path).parent for path in paths}:
        if folder.is_dir():
            _sync(folder)
