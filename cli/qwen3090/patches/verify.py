"""Proves by content, not by marker, that each patch is in a tree and nothing else was changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from qwen3090.patches import transaction
from qwen3090.patches.errors import PatchError
from qwen3090.patches.model import Patch
from qwen3090.patches.record import Record, read_record
from qwen3090.patches.reverse import Walk, reverse_series
from qwen3090.patches.series import Series, series_hash
from qwen3090.patches.sources import Folder, Source
from qwen3090.patches.state import read_marker

# Files this large are shared libraries; their size is compared, not their digest.
BIG = 16 << 20

State = Literal["applied", "missing", "altered"]


@dataclass(frozen=True)
class PatchState:
    """One patch's state in a tree.

    Attributes:
        name: the patch file's name.
        title: its ``What`` field.
        state: ``applied``; ``missing`` (every file is as before it); ``altered`` (neither).
        detail: why it is not applied, naming files; empty when it is.
    """

    name: str
    title: str
    state: State
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What `inspect` found.

    Attributes:
        states: a state for each patch, in series order.
        outside: files of ``vllm/`` that differ from the wheel beyond the series, with how.
        notes: what limits the proof, or is odd without being wrong.
        series_hash: the hash of the series that was checked.
    """

    states: list[PatchState]
    outside: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    series_hash: str = ""

    @property
    def ok(self) -> bool:
        """Return whether every patch is applied and nothing was changed outside them."""
        return not self.outside and all(state.state == "applied" for state in self.states)


def verify(tree: Path, series: Series) -> list[PatchState]:
    """Return each patch's state; see `inspect` for changes outside the series.

    Raises:
        PatchError: the tree has no ``vllm/``, or its RECORD is damaged.
    """
    return inspect(tree, series).states


def inspect(tree: Path, series: Series) -> Report:
    """Check a tree against a series and the wheel's RECORD; nothing is written.

    The series is reversed in memory from what the files hold now, and the result compared with
    the RECORD's digests. Without a RECORD the last step is left out, and a note says so.

    Raises:
        PatchError: the tree has no ``vllm/``, or its RECORD is damaged.
    """
    source = Folder(tree)
    with transaction.shared(tree):
        record = read_record(source)
        walk = reverse_series(source, series)
        states = [_state(patch, walk) for patch in series.patches]
        outside = _outside(source, walk, record, series) if record else []
        notes = _notes(tree, source, series, record, all(s.state == "applied" for s in states))
    return Report(states, outside, notes, series_hash(series))


def _state(patch: Patch, walk: Walk) -> PatchState:
    failures = walk.failures.get(patch.name, [])
    if not failures:
        return PatchState(patch.name, patch.title, "applied")
    if all(absent for _, _, absent in failures) and len(failures) == len(patch.files):
        return PatchState(patch.name, patch.title, "missing", f"not in {', '.join(patch.paths)}")
    detail = "; ".join(reason for _, reason, _ in failures)
    return PatchState(patch.name, patch.title, "altered", detail)


def _outside(source: Folder, walk: Walk, record: Record, series: Series) -> list[str]:
    """Compare every file with the RECORD, the series' own files after taking the series out."""
    ours = set(series.paths)
    broken = {path for failures in walk.failures.values() for path, _, _ in failures}
    found = []
    present = {path for path in source.paths() if path.startswith("vllm/")}
    for path in sorted(present | set(record.sha256) | ours):
        if path in broken or path.endswith(".pyc"):
            continue
        if path in ours:
            if not record.is_pristine(path, walk.source.read(path)):
                found.append(f"{path}: changed besides the series")
        elif path not in record.sha256:
            found.append(f"{path}: not in the wheel")
        elif path not in present:
            found.append(f"{path}: removed")
        elif record.sizes[path] > BIG:
            if (source.root / path).stat().st_size != record.sizes[path]:
                found.append(f"{path}: size changed")
        elif not record.is_pristine(path, source.read(path)):
            found.append(f"{path}: changed")
    return found


def _notes(
    tree: Path, source: Source, series: Series, record: Record | None, applied: bool
) -> list[str]:
    notes = []
    if transaction.interrupted(tree):
        notes.append("an interrupted change is not undone yet; run: qwen3090 patches apply")
    if record is None:
        notes.append("the tree has no RECORD of vLLM: changes outside the hunks cannot be seen")
    try:
        marker = read_marker(source)
    except PatchError as error:
        return [*notes, error.message]
    if applied and marker is None and series.patches:
        notes.append("no marker, though every patch is in the tree; run: qwen3090 patches apply")
    elif marker is not None and marker.series_hash != series_hash(series):
        notes.append(f"the marker names another series ({marker.series_hash[:12]})")
    return notes
