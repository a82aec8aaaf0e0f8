"""Takes a series out of a tree in memory, last patch first, and tells which patches were there."""

from __future__ import annotations

from dataclasses import dataclass, field

from qwen3090.patches.errors import PatchError
from qwen3090.patches.hunks import Moves, apply_file
from qwen3090.patches.model import FilePatch
from qwen3090.patches.series import Series
from qwen3090.patches.sources import Overlay, Source
from qwen3090.patches.text import to_bytes, to_lines


@dataclass
class Walk:
    """The outcome of `reverse_series`.

    Attributes:
        source: the tree without the patches that came out.
        failures: patch name to (file, reason, whether the file is as before the patch).
    """

    source: Overlay
    failures: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)


def reverse_series(source: Source, series: Series) -> Walk:
    """Take every patch out, last first, strictly; what does not come out is noted and left."""
    walk = Walk(Overlay(source))
    for patch in reversed(series.patches):
        for file in patch.files:
            data = walk.source.read(file.path)
            lines = None if data is None else to_lines(data)
            try:
                result = apply_file(lines, file.reversed(), patch.name)
            except PatchError as error:
                absent = _fits(lines, file, patch.name)
                walk.failures.setdefault(patch.name, []).append((file.path, error.message, absent))
            else:
                walk.source.changes[file.path] = None if result is None else to_bytes(result)
    return walk


def _fits(lines: list[str] | None, file: FilePatch, patch: str) -> bool:
    """Return whether the patch could go on here, at any line: then it is missing, not altered."""
    try:
        apply_file(lines, file, patch, moves=Moves())
    except PatchError:
        return False
    return True
