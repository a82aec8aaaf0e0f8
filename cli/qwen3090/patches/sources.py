"""Where files are read from: a folder, a wheel, or either with changes over it in memory."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from qwen3090.patches.errors import PatchError
from qwen3090.patches.hunks import apply_file
from qwen3090.patches.model import Patch
from qwen3090.patches.text import to_bytes, to_lines

Changes = dict[str, bytes | None]


class Source(Protocol):
    """Reads files by their path in the tree (``vllm/...`` or ``vllm-*.dist-info/...``)."""

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None when there is no such file."""

    def paths(self) -> Iterator[str]:
        """Yield every file's path, in no order."""

    def describe(self) -> str:
        """Return what messages call it."""


class Folder:
    """A site-packages folder, or any folder with ``vllm/`` in it."""

    def __init__(self, root: Path) -> None:
        if not (root / "vllm").is_dir():
            raise PatchError(
                f"{root} is not a vLLM tree: it has no folder vllm/",
                "give the folder that contains vllm/ (a site-packages), or install vLLM: "
                "qwen3090 setup",
            )
        self.root = root

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None when there is no such file."""
        target = self.root / path
        try:
            return target.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise PatchError(f"cannot read {target}: {error.strerror}", None, path=path) from error

    def paths(self) -> Iterator[str]:
        """Yield the files of ``vllm/`` and of its dist-info folders."""
        tops = [self.root / "vllm", *sorted(self.root.glob("vllm*.dist-info"))]
        for top in tops:
            for folder, folders, files in os.walk(top):
                folders[:] = [name for name in folders if name not in ("__pycache__", ".qwen3090")]
                for name in files:
                    yield (Path(folder) / name).relative_to(self.root).as_posix()

    def describe(self) -> str:
        """Return the folder."""
        return str(self.root)


class Wheel:
    """A wheel file, read in place: its shared libraries are never unpacked."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except (OSError, zipfile.BadZipFile) as error:
            raise PatchError(
                f"cannot read the wheel {file}: {error}", "download it again: qwen3090 setup"
            ) from error
        self._names = set(self._zip.namelist())

    def read(self, path: str) -> bytes | None:
        """Return a member's bytes, or None when there is no such member."""
        return self._zip.read(path) if path in self._names else None

    def paths(self) -> Iterator[str]:
        """Yield every member that is a file."""
        return (name for name in self._names if not name.endswith("/"))

    def describe(self) -> str:
        """Return the file."""
        return str(self.file)


class Overlay:
    """A source with changed files laid over it; nothing is written."""

    def __init__(self, base: Source, changes: Mapping[str, bytes | None] | None = None) -> None:
        self.base = base
        self.changes: Changes = dict(changes or {})

    def read(self, path: str) -> bytes | None:
        """Return the changed bytes, or the base's."""
        return self.changes[path] if path in self.changes else self.base.read(path)

    def paths(self) -> Iterator[str]:
        """Yield the files that exist after the changes."""
        for path in self.base.paths():
            if path not in self.changes:
                yield path
        yield from (path for path, data in self.changes.items() if data is not None)

    def describe(self) -> str:
        """Return the base's name."""
        return self.base.describe()

    def apply(self, patch: Patch) -> None:
        """Apply one patch strictly; on PatchError nothing of it is kept."""
        new: Changes = {}
        for file in patch.files:
            data = self.read(file.path)
            lines = None if data is None else to_lines(data)
            result = apply_file(lines, file, patch.name)
            new[file.path] = None if result is None else to_bytes(result)
        self.changes.update(new)

    def apply_all(self, patches: Iterable[Patch]) -> None:
        """Apply patches in order; the first that does not fit raises PatchError."""
        for patch in patches:
            self.apply(patch)


def open_source(path: Path) -> Source:
    """Return a wheel's or a folder's source.

    Raises:
        PatchError: the path is neither.
    """
    return Wheel(path) if path.suffix == ".whl" else Folder(path)
