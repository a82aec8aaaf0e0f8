"""Reads patches/series and the patches it names; refuses what cannot be applied in order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from qwen3090.patches.errors import PatchError
from qwen3090.patches.model import Patch
from qwen3090.patches.parse import NAME, parse_patch


@dataclass(frozen=True)
class Series:
    """The patches of a folder, in the order they apply."""

    directory: Path
    patches: tuple[Patch, ...]

    @property
    def paths(self) -> list[str]:
        """Return every file of the tree that some patch touches, sorted."""
        return sorted({path for patch in self.patches for path in patch.paths})

    def find(self, name: str) -> Patch:
        """Return a patch by file name, name without ``.patch``, or four-digit number.

        Raises:
            PatchError: no patch, or more than one, is called that.
        """
        hits = [
            p for p in self.patches if name in (p.name, p.name.removesuffix(".patch"), p.number)
        ]
        if len(hits) != 1:
            raise PatchError(
                f"{'no patch' if not hits else 'more than one patch'} is called '{name}' "
                f"in {self.directory / 'series'}",
                "see the names: qwen3090 patches list",
            )
        return hits[0]


def read_names(directory: Path) -> list[str]:
    """Return the names in ``series`` in order: one a line, ``#`` starts a comment.

    Raises:
        PatchError: there is no series file.
    """
    file = directory / "series"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatchError(
            f"cannot read the series {file}: {error}", f"restore it: git checkout {file}"
        ) from error
    stripped = (line.split("#", 1)[0].strip() for line in text.split("\n"))
    return [line for line in stripped if line]


def read_patch(directory: Path, name: str) -> Patch:
    """Read and parse one patch of a folder.

    Raises:
        PatchError: the name is not ``NNNN-name.patch``, the file is missing or malformed.
    """
    file = directory / name
    if not NAME.match(name):
        raise PatchError(
            f"'{name}' in {directory / 'series'} is not a patch name",
            "name it NNNN-name.patch: four digits, lower case, one name a line, no options",
            patch=name,
        )
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise PatchError(
            f"cannot read {file}: {error.strerror}",
            f"restore it (git checkout {file}) or take '{name}' out of {directory / 'series'}",
            patch=name,
        ) from error
    return parse_patch(name, raw)


def load_series(directory: Path) -> Series:
    """Read a folder's series and every patch in it.

    Raises:
        PatchError: series or patch missing or malformed, a name or number twice, numbers that
            do not ascend, or a series that names nothing beside patch files: one emptied by
            accident would otherwise apply, and verify, as if all were well.
    """
    names = read_names(directory)
    if not names and (files := sorted(directory.glob("[0-9]*.patch"))):
        raise PatchError(
            f"{directory / 'series'} names no patch, but {len(files)} patch files lie beside it "
            f"({files[0].name}, ...)",
            f"restore it: git checkout {directory / 'series'}; or list the patches in it",
        )
    for first, second in pairwise(names):
        if first[:4] >= second[:4]:
            raise PatchError(
                f"{directory / 'series'}: '{second}' follows '{first}', but numbers must ascend",
                "put the lines in order of their numbers; see: qwen3090 patches lint",
                patch=second,
            )
    return Series(directory, tuple(read_patch(directory, name) for name in names))


def series_hash(series: Series) -> str:
    """Return the sha256 (hex) over names and contents; the same on every machine."""
    digest = hashlib.sha256()
    for patch in series.patches:
        digest.update(f"{patch.name} {patch.sha256}\n".encode())
    return digest.hexdigest()
