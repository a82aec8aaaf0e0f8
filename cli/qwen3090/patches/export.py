"""Makes or updates a patch file from two trees: the pristine one, and one somebody worked in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from qwen3090.patches.errors import PatchError
from qwen3090.patches.files import editing, replace_text
from qwen3090.patches.header import make_header
from qwen3090.patches.hunks import Moves, apply_file
from qwen3090.patches.model import Patch
from qwen3090.patches.parse import NAME
from qwen3090.patches.refresh import reexport
from qwen3090.patches.series import Series, read_names
from qwen3090.patches.sources import Overlay, Source
from qwen3090.patches.text import to_bytes, to_lines

# Never part of a patch: built, or left by editors and other patch tools.
_SKIP = (".so", ".pyc", ".pyd", ".orig", ".rej", ".swp", "~")


@dataclass(frozen=True)
class Exported:
    """The written patch: its file, the files it touches, and whether the series grew by it."""

    file: Path
    paths: tuple[str, ...]
    added: bool


def export(
    name: str,
    pristine: Source,
    work: Source,
    series: Series,
    *,
    fields: dict[str, str] | None = None,
    later_applied: bool = False,
) -> Exported:
    """Write the patch that leads from the earlier series to the work tree.

    Args:
        name: ``NNNN-name``, with or without ``.patch``; an existing patch keeps its header.
        pristine: the tree without any patch.
        work: the tree with the patches before this one, and the new work.
        series: the series as it is; a new patch is put into it by its number.
        fields: header fields to set (What, Why, Kind, Upstream, Retires-when).
        later_applied: the work tree holds the later patches too; they are taken out first.

    Raises:
        PatchError: a bad name, a number in use, no difference, a binary file changed, or a later
            patch in the work tree that nobody spoke of.
    """
    name = name if name.endswith(".patch") else f"{name}.patch"
    if not NAME.match(name):
        raise PatchError(
            f"'{name}' is not a patch name", "name it NNNN-name: four digits, then lower case"
        )
    same = [patch for patch in series.patches if patch.number == name[:4]]
    if same and same[0].name != name:
        raise PatchError(f"number {name[:4]} belongs to {same[0].name}", "take a free number")
    before = Overlay(pristine)
    before.apply_all(patch for patch in series.patches if patch.name < name)
    after = Overlay(work)
    later = [patch for patch in series.patches if patch.name > name]
    if later_applied:
        for patch in reversed(later):
            _take_out(after, patch)
    elif inside := next((patch for patch in later if _holds(work, patch)), None):
        raise PatchError(
            f"the work tree holds {inside.name} too, which would become a part of {name}",
            "add --later-applied: the later patches are then taken out first",
            patch=name,
        )
    paths = _changed(name, before, after)
    header = _header(same[0].header if same else "", fields or {})
    file = series.directory / name
    raw = reexport(name, header, before, after, paths)
    replace_text(file, raw)
    if not same:
        _insert(series.directory, name)
    return Exported(file, tuple(paths), not same)


def _take_out(tree: Overlay, patch: Patch) -> None:
    for file in patch.files:
        data = tree.read(file.path)
        lines = None if data is None else to_lines(data)
        result = apply_file(lines, file.reversed(), patch.name, moves=Moves())
        tree.changes[file.path] = None if result is None else to_bytes(result)


def _holds(work: Source, patch: Patch) -> bool:
    """Return whether a patch can be taken out of a tree, so that it is in it."""
    try:
        _take_out(Overlay(work), patch)
    except PatchError:
        return False
    return True


def _changed(name: str, before: Source, after: Source) -> list[str]:
    names = {*before.paths(), *after.paths()}
    paths = []
    for path in sorted(names):
        if not path.startswith("vllm/") or path.endswith(_SKIP):
            continue
        old, new = before.read(path), after.read(path)
        if old == new:
            continue
        for data in (old, new):
            if data is not None and not _is_text(data):
                raise PatchError(f"{path} differs but is not text", "patches hold text alone")
        paths.append(path)
    if not paths:
        raise PatchError(
            f"nothing to export as {name}: the work tree equals the pristine tree with the "
            "patches before it",
            "edit the work tree first; --from is the pristine tree, --to the work tree",
            patch=name,
        )
    return paths


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _header(old: str, fields: dict[str, str]) -> str:
    """Return the old header with the given fields set; a new one when there is none."""
    if not old.strip():
        return make_header(fields)
    kept: list[str] = []
    dropping = False
    for line in old.split("\n"):
        starts = next((name for name in fields if line.startswith(f"{name}:")), None)
        dropping = bool(starts) or (dropping and line[:1] in (" ", "\t") and bool(line.strip()))
        if starts:
            kept.append(f"{starts}: {fields[starts]}")
        elif not dropping:
            kept.append(line)
    have = "\n".join(kept)
    missing = [name for name in fields if f"{name}:" not in {line.split(" ")[0] for line in kept}]
    return "".join(f"{name}: {fields[name]}\n" for name in missing) + have


def _insert(directory: Path, name: str) -> None:
    """Put a new name into the series file before the first later one; comments stay."""
    file = directory / "series"
    with editing(directory):
        if name in read_names(directory):
            return
        lines = file.read_text(encoding="utf-8").split("\n")
        if lines[-1] == "":
            lines.pop()
        later = (i for i, line in enumerate(lines) if line.split("#")[0].strip() > name)
        lines.insert(next(later, len(lines)), name)
        replace_text(file, ("\n".join(lines) + "\n").encode())
