"""What a patch is once parsed: plain frozen data that the applier, verifier and exporter share."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

from qwen3090.patches.header import parse_header

_SWAP = {"+": "-", "-": "+", " ": " "}


@dataclass(frozen=True)
class Hunk:
    """One hunk.

    Attributes:
        number: position in its file, from 1.
        source_start: first line of the hunk before the patch, from 1 (0 or the line
            before it when the hunk has no line there), as in the ``@@`` header.
        target_start: the same after the patch.
        lines: (tag, text) with tag one of ``" "``, ``"-"``, ``"+"``; the text keeps its
            newline, and lacks one only at the end of a file that has none.
    """

    number: int
    source_start: int
    target_start: int
    lines: tuple[tuple[str, str], ...]

    @cached_property
    def source(self) -> list[str]:
        """Return the lines that must be there before the patch."""
        return [text for tag, text in self.lines if tag != "+"]

    @cached_property
    def target(self) -> list[str]:
        """Return the lines that are there after the patch."""
        return [text for tag, text in self.lines if tag != "-"]

    @cached_property
    def context(self) -> tuple[int, int]:
        """Return how many unchanged lines stand before the first change and behind the last."""
        changed = [index for index, (tag, _) in enumerate(self.lines) if tag != " "]
        if not changed:
            return len(self.lines), len(self.lines)
        return changed[0], len(self.lines) - 1 - changed[-1]

    def reversed(self) -> Hunk:
        """Return the hunk that undoes this one."""
        return Hunk(
            self.number,
            self.target_start,
            self.source_start,
            tuple((_SWAP[tag], text) for tag, text in self.lines),
        )


@dataclass(frozen=True)
class FilePatch:
    """What one patch does to one file; ``path`` starts with ``vllm/``."""

    path: str
    created: bool
    deleted: bool
    hunks: tuple[Hunk, ...]

    def reversed(self) -> FilePatch:
        """Return the file patch that undoes this one."""
        return replace(
            self,
            created=self.deleted,
            deleted=self.created,
            hunks=tuple(hunk.reversed() for hunk in self.hunks),
        )


@dataclass(frozen=True)
class Patch:
    """One patch file: its name, its bytes, its free-text header and what it does."""

    name: str
    raw: bytes
    header: str
    files: tuple[FilePatch, ...]

    @property
    def number(self) -> str:
        """Return the four digits its name starts with."""
        return self.name[:4]

    @cached_property
    def sha256(self) -> str:
        """Return the hex digest of the patch file."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def fields(self) -> dict[str, str]:
        """Return the header's fields by name (What, Why, Kind, Upstream, Retires-when)."""
        return parse_header(self.header)

    @property
    def title(self) -> str:
        """Return the ``What`` field, or the name when there is none."""
        return self.fields.get("What") or self.name

    @property
    def paths(self) -> list[str]:
        """Return the files it touches, in the patch's order."""
        return [file.path for file in self.files]
