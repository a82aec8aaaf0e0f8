"""Re-exports patches whose lines moved; the code they change must still be there."""

from __future__ import annotations

from dataclasses import dataclass

from qwen3090.patches.diff import render
from qwen3090.patches.errors import PatchError
from qwen3090.patches.files import replace_text
from qwen3090.patches.hunks import Moves, apply_file
from qwen3090.patches.model import Patch
from qwen3090.patches.parse import parse_patch
from qwen3090.patches.series import Series
from qwen3090.patches.sources import Overlay, Source
from qwen3090.patches.text import to_bytes, to_lines


@dataclass(frozen=True)
class Refreshed:
    """One rewritten patch: its name and where hunks moved, as (file, hunk number, lines)."""

    name: str
    moved: tuple[tuple[str, int, int], ...]


def refresh(pristine: Source, series: Series, names: list[str] | None = None) -> list[Refreshed]:
    """Rewrite patches with the line numbers they have now; headers are kept.

    Args:
        pristine: the tree without any patch.
        series: what `load_series` returned.
        names: the patches to refresh; None means all. The others must apply strictly.

    Returns:
        The patches whose file changed.

    Raises:
        PatchError: a hunk's lines are nowhere, or at two places equally near. Nothing is
            written then.
    """
    chosen = {series.find(name).name for name in names} if names else None
    tree = Overlay(pristine)
    results: list[tuple[Refreshed, bytes]] = []
    for patch in series.patches:
        if chosen is not None and patch.name not in chosen:
            tree.apply(patch)
            continue
        before = Overlay(tree.base, tree.changes)
        moved = _apply_loosely(tree, patch)
        raw = reexport(patch.name, patch.header, before, tree, patch.paths)
        if raw != patch.raw:
            results.append((Refreshed(patch.name, moved), raw))
    for result, raw in results:
        replace_text(series.directory / result.name, raw)
    return [result for result, _ in results]


def reexport(name: str, header: str, before: Source, after: Source, paths: list[str]) -> bytes:
    """Return a patch file's bytes, and prove that it applies to ``before`` and gives ``after``.

    Raises:
        PatchError: the two trees do not differ in the given files.
    """
    diff = render(before, after, paths)
    if not diff:
        raise PatchError(
            f"{name} would be empty: its changes are in the tree already",
            f"take '{name}' out of patches/series and delete the file",
            patch=name,
        )
    raw = f"{header}{diff}".encode()
    check = Overlay(before)
    check.apply(parse_patch(name, raw))
    wrong = [path for path in paths if check.read(path) != after.read(path)]
    if wrong:
        raise PatchError(f"{name}: the diff written for {wrong[0]} does not reproduce it", None)
    return raw


def _apply_loosely(tree: Overlay, patch: Patch) -> tuple[tuple[str, int, int], ...]:
    moved: list[tuple[str, int, int]] = []
    for file in patch.files:
        data = tree.read(file.path)
        moves = Moves()
        lines = None if data is None else to_lines(data)
        result = apply_file(lines, file, patch.name, moves=moves)
        tree.changes[file.path] = None if result is None else to_bytes(result)
        moved += [(file.path, number, offset) for number, offset in moves.found]
    return tuple(moved)
