"""Puts a series into a tree and takes it out again, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qwen3090.patches import transaction
from qwen3090.patches.errors import PatchError
from qwen3090.patches.parse import STATE_DIR
from qwen3090.patches.record import Record, digest, read_record
from qwen3090.patches.reverse import reverse_series
from qwen3090.patches.series import Series, series_hash
from qwen3090.patches.sources import Changes, Folder, Overlay, Source
from qwen3090.patches.state import MARKER, ORIGINALS, Pristine, make_state


@dataclass(frozen=True)
class Outcome:
    """What a call did.

    Attributes:
        changed: files of the tree written or removed, sorted; empty when nothing was to do.
        recovered: an interrupted earlier change was undone first.
        adopted: the series was in the tree already, without a marker; the marker was written.
    """

    changed: tuple[str, ...] = ()
    recovered: bool = False
    adopted: bool = False


def apply(tree: Path, series: Series) -> Outcome:
    """Put the series into a tree; an applied other series is taken out first.

    Args:
        tree: the folder that contains ``vllm/`` (a site-packages).
        series: what `load_series` returned.

    Raises:
        PatchError: a hunk does not fit, the tree is neither pristine nor ours, or it cannot be
            written. Nothing was changed then.
    """
    source = Folder(tree)
    if not os.access(tree / "vllm", os.W_OK) and _is_applied(source, series):
        return Outcome()
    with _writing(tree):
        recovered = transaction.recover(tree)
        if _is_applied(source, series):
            return Outcome(recovered=recovered)
        pristine, adopted = _pristine(source, series)
        wanted = Overlay(pristine)
        wanted.apply_all(series.patches)
        changes = _to_pristine(pristine)
        changes.update(wanted.changes)
        _, state = make_state(series, pristine, wanted.changes, read_record(source))
        changed = _commit(tree, source, changes, state)
    return Outcome(changed, recovered, adopted)


def unapply(tree: Path) -> Outcome:
    """Bring a tree back to the bytes it had before any series.

    Raises:
        PatchError: a file was changed after we patched it, or the tree cannot be written.
    """
    source = Folder(tree)
    with _writing(tree):
        recovered = transaction.recover(tree)
        pristine = Pristine(source)
        pristine.check((), read_record(source))
        changed = _commit(tree, source, _to_pristine(pristine), {})
    return Outcome(changed, recovered)


def _is_applied(source: Source, series: Series) -> bool:
    """Return whether the marker names this series and every file is as it left it."""
    pristine = Pristine(source)
    marker = pristine.marker
    if marker is None or marker.series_hash != series_hash(series):
        return False
    return all(pristine.is_ours(path, source.read(path)) for path in marker.files) and all(
        before is None or digest(source.read(f"{ORIGINALS}/{path}")) == before
        for path, (before, _) in marker.files.items()
    )


def _pristine(source: Source, series: Series) -> tuple[Source, bool]:
    """Return the tree's pristine view, and whether it had the series without our marker."""
    pristine = Pristine(source)
    record = read_record(source)
    try:
        pristine.check(series.paths, record)
    except PatchError:
        if record is None or pristine.marker is not None:
            raise
        undone = _undone(source, series, record)
        if undone is None:
            raise
        return undone, True
    return pristine, False


def _undone(source: Source, series: Series, record: Record) -> Source | None:
    """Return the tree with the series taken out, if that gives the wheel's own bytes."""
    walk = reverse_series(source, series)
    fits = not walk.failures and all(
        record.is_pristine(path, walk.source.read(path)) for path in series.paths
    )
    return walk.source if fits else None


def _to_pristine(pristine: Source) -> Changes:
    """Return what takes our series and our state out of a tree."""
    marker = pristine.marker if isinstance(pristine, Pristine) else None
    changes: Changes = {}
    if marker is not None:
        changes = {path: pristine.read(path) for path in marker.files}
        changes[MARKER] = None
        for path, (before, _) in marker.files.items():
            if before is not None:
                changes[f"{ORIGINALS}/{path}"] = None
    return changes


def _commit(tree: Path, source: Source, changes: Changes, state: Changes) -> tuple[str, ...]:
    everything = {**changes, **state}
    changed = [path for path, data in everything.items() if source.read(path) != data]
    transaction.commit(tree, everything)
    return tuple(sorted(path for path in changed if not path.startswith(f"{STATE_DIR}/")))


@contextmanager
def _writing(tree: Path) -> Iterator[None]:
    try:
        with transaction.locked(tree):
            yield
    except OSError as error:
        torn = transaction.interrupted(tree)
        raise PatchError(
            f"cannot write {error.filename or tree}: {error.strerror or error}; "
            + ("the change is not undone yet" if torn else "the tree is as it was"),
            "free space or use an account that owns the folder, then: qwen3090 patches apply",
        ) from error
