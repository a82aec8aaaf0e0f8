"""What our tools left in a tree: the marker, the originals, and from them each file's standing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qwen3090.patches.errors import PatchError
from qwen3090.patches.parse import STATE_DIR
from qwen3090.patches.record import Record, digest
from qwen3090.patches.series import Series, series_hash
from qwen3090.patches.sources import Changes, Source

MARKER = f"{STATE_DIR}/applied.json"
ORIGINALS = f"{STATE_DIR}/originals"
_FORMAT = 1


@dataclass(frozen=True)
class Marker:
    """What was applied.

    Attributes:
        series_hash: `series_hash` of the applied series.
        vllm: distribution and version, ``vllm 0.28.0``; empty when the tree has no RECORD.
        patches: (name, sha256) in order.
        files: path to (digest before, digest after); None stands for an absent file.
    """

    series_hash: str
    vllm: str
    patches: tuple[tuple[str, str], ...]
    files: dict[str, tuple[str | None, str | None]]

    def to_bytes(self) -> bytes:
        """Return the JSON text; equal markers give equal bytes."""
        document = {
            "format": _FORMAT,
            "series_hash": self.series_hash,
            "vllm": self.vllm,
            "patches": [{"name": name, "sha256": sha} for name, sha in self.patches],
            "files": [
                {"path": path, "before": before, "after": after}
                for path, (before, after) in sorted(self.files.items())
            ],
        }
        return (json.dumps(document, indent=1) + "\n").encode()


def read_marker(source: Source) -> Marker | None:
    """Return the tree's marker, None when there is none.

    Raises:
        PatchError: it is damaged.
    """
    data = source.read(MARKER)
    if data is None:
        return None
    try:
        document = json.loads(data)
        if document["format"] != _FORMAT:
            raise ValueError(f"format {document['format']!r}, this version knows {_FORMAT}")
        return Marker(
            str(document["series_hash"]),
            str(document["vllm"]),
            tuple((str(p["name"]), str(p["sha256"])) for p in document["patches"]),
            {str(f["path"]): (f["before"], f["after"]) for f in document["files"]},
        )
    except (ValueError, KeyError, TypeError) as error:
        raise PatchError(
            f"{source.describe()}/{MARKER} is damaged: {error}",
            "reinstall vLLM: qwen3090 setup --repair",
        ) from error


class Pristine:
    """The tree as it was before our series: the originals where a file is ours, else the file.

    Raises:
        PatchError: (from `check`) a file is neither pristine nor as our tools left it.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.marker = read_marker(source)

    def is_ours(self, path: str, data: bytes | None) -> bool:
        """Return whether the file is exactly as the marker says we left it."""
        return (
            self.marker is not None
            and path in self.marker.files
            and digest(data) == self.marker.files[path][1]
        )

    def read(self, path: str) -> bytes | None:
        """Return the pristine bytes."""
        data = self.source.read(path)
        if self.marker is None or not self.is_ours(path, data):
            return data
        before = self.marker.files[path][0]
        if before is None:
            return None
        original = self.source.read(f"{ORIGINALS}/{path}")
        if digest(original) != before:
            raise PatchError(
                f"{self.source.describe()}/{ORIGINALS}/{path}, the copy of the file before the "
                "series, is missing or damaged",
                "reinstall vLLM: qwen3090 setup --repair",
                path=path,
            )
        return original

    def paths(self) -> Iterator[str]:
        """Yield the files of the pristine tree."""
        files = self.marker.files if self.marker else {}
        for path in self.source.paths():
            if path not in files:
                yield path
        yield from (path for path in files if self.read(path) is not None)

    def describe(self) -> str:
        """Return the tree's name."""
        return self.source.describe()

    def check(self, paths: Iterable[str], record: Record | None) -> None:
        """Refuse the tree when one of the paths, or of the marker's, is foreign."""
        files = self.marker.files if self.marker else {}
        foreign = []
        for path in sorted({*paths, *files}):
            data = self.read(path)
            if record is not None:
                fine = record.is_pristine(path, data)
            else:
                fine = path not in files or digest(data) == files[path][0]
            if not fine:
                foreign.append(path)
        if foreign:
            names = ", ".join(foreign[:8]) + (f" and {len(foreign) - 8} more" * (len(foreign) > 8))
            raise PatchError(
                f"{self.describe()} is neither pristine nor patched by us; changed: {names}",
                "reinstall vLLM and apply the series: qwen3090 setup --repair",
                path=foreign[0],
            )


def make_state(
    series: Series, pristine: Source, after: Changes, record: Record | None
) -> tuple[Marker, Changes]:
    """Return the marker of a series over a pristine tree, and the state files to write."""
    files = {}
    state: Changes = {}
    for path, data in sorted(after.items()):
        before = pristine.read(path)
        files[path] = (digest(before), digest(data))
        if before is not None:
            state[f"{ORIGINALS}/{path}"] = before
    marker = Marker(
        series_hash(series),
        f"{record.distribution} {record.version}" if record else "",
        tuple((patch.name, patch.sha256) for patch in series.patches),
        files,
    )
    state[MARKER] = marker.to_bytes()
    return marker, state
