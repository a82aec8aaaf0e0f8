"""What stands on disk: whole directories under their names, unfinished ones under a hidden name.

A directory gets its final name only when every file in it was verified. What was verified is
written down (size, modification time, sha256), so that a second run does not hash 20 GB again.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from qwen3090 import __version__
from qwen3090.models.manifest import ModelRepository

MARKER = ".qwen3090.json"
JOURNAL = ".verified.jsonl"
PART = ".part"


@dataclass(frozen=True)
class Record:
    """A file that was verified: size in bytes, modification time in ns, sha256."""

    size: int
    mtime_ns: int
    sha256: str

    def still_fits(self, path: Path) -> bool:
        """Tell whether the file has the size and time it had when it was verified."""
        try:
            stat = path.stat()
        except OSError:
            return False
        return stat.st_size == self.size and stat.st_mtime_ns == self.mtime_ns


@dataclass(frozen=True)
class Marker:
    """The content of a whole directory: which commit, which files."""

    repository: str
    revision: str
    files: dict[str, Record]


class Store:
    """The models directory: one entry per repository name, its staging area and its lock."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def final(self, name: str) -> Path:
        """Return where the whole repository stands."""
        return self.root / name

    def staging(self, name: str) -> Path:
        """Return where an unfinished fetch of it stands."""
        return self.root / f".{name}.staging"

    def lock(self, name: str) -> Path:
        """Return its lock file."""
        return self.root / f".{name}.lock"

    def names(self) -> list[str]:
        """Return every name that has a whole or an unfinished directory."""
        if not self.root.is_dir():
            return []
        found = set()
        for entry in self.root.iterdir():
            name = entry.name
            if name.startswith(".") and name.endswith(".staging"):
                found.add(name[1 : -len(".staging")])
            elif not name.startswith(".") and (entry / MARKER).is_file():
                found.add(name)
        return sorted(found)


def read_marker(directory: Path) -> Marker | None:
    """Return the marker of a directory, or None when it has none that can be read."""
    try:
        data = json.loads((directory / MARKER).read_text(encoding="utf-8"))
        files = {path: Record(**entry) for path, entry in data["files"].items()}
        return Marker(str(data["repository"]), str(data["revision"]), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def read_records(directory: Path) -> dict[str, Record]:
    """Return every verified file on record, from the marker and from the journal of a fetch."""
    marker = read_marker(directory)
    records = dict(marker.files) if marker else {}
    try:
        lines = (directory / JOURNAL).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return records
    for line in lines:
        try:
            entry = json.loads(line)
            path = entry.pop("path")
            records[path] = Record(**entry)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # the last line of a killed run may be cut; that file is hashed again
    return records


def note_verified(directory: Path, path: str, sha256: str) -> None:
    """Append one verified file to the journal of a staging directory."""
    stat = (directory / path).stat()
    entry = {"path": path, **asdict(Record(stat.st_size, stat.st_mtime_ns, sha256))}
    with (directory / JOURNAL).open("a", encoding="utf-8") as stream:
        stream.write("\n" + json.dumps(entry) + "\n")


def write_marker(directory: Path, repository: ModelRepository, files: dict[str, Record]) -> None:
    """Write the marker beside its place, flush it and rename it in."""
    data = {
        "repository": repository.repository,
        "revision": repository.revision,
        "files": {path: asdict(record) for path, record in sorted(files.items())},
        "written_by": f"qwen3090 {__version__}",
    }
    draft = directory / (MARKER + ".new")
    with draft.open("w", encoding="utf-8") as stream:
        json.dump(data, stream, indent=1)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(directory / MARKER)
    sync_directory(directory)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def whole(directory: Path, repository: ModelRepository) -> bool:
    """Tell, without reading file contents, whether a directory holds the repository's files.

    True when the marker names the same commit, every file of the manifest is on record with its
    sha256, and each still has the size and time it was verified with.
    """
    marker = read_marker(directory)
    if marker is None or marker.revision != repository.revision:
        return False
    for entry in repository.files:
        record = marker.files.get(entry.path)
        if record is None or (record.size, record.sha256) != (entry.size, entry.sha256):
            return False
    wanted = {entry.path for entry in repository.files}
    wanted |= {entry.path for entry in repository.generated}
    return wanted <= marker.files.keys() and all(
        marker.files[path].still_fits(directory / path) for path in wanted
    )
