"""Tries a series on a wheel or a tree in memory: the proof that one text fits both wheels."""

from __future__ import annotations

import ast

from qwen3090.patches.errors import PatchError
from qwen3090.patches.series import Series
from qwen3090.patches.sources import Overlay, Source


def check(pristine: Source, series: Series) -> list[str]:
    """Apply every patch in memory and parse the Python files that come out.

    Returns:
        The files that would change, sorted.

    Raises:
        PatchError: a hunk does not fit, or a patched file is not valid Python.
    """
    tree = Overlay(pristine)
    for patch in series.patches:
        tree.apply(patch)
        for path in patch.paths:
            data = tree.read(path)
            if data is None or not path.endswith(".py"):
                continue
            try:
                ast.parse(data, path)
            except (SyntaxError, ValueError) as error:
                raise PatchError(
                    f"{patch.name} makes {path} invalid Python: {error}",
                    f"mend it and export it again: qwen3090 patches export {patch.name}",
                    patch=patch.name,
                    path=path,
                ) from error
    return sorted(path for path in tree.changes if tree.read(path) != pristine.read(path))
