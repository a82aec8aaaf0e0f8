"""Files that are on this machine already, found by name or size and taken by sha256 alone.

Looked at: the hub's own cache, directories the user names, other repositories in the store.
A match is reflinked, else hard-linked, else copied; the original is never changed.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Event, Lock

from qwen3090.errors import UserError
from qwen3090.models.hashing import file_sha256
from qwen3090.models.manifest import ModelFile, ModelRepository
from qwen3090.models.store import Store, read_records

_FICLONE = 0x40049409  # linux/fs.h: share the source's blocks, copy on write


class Reuse:
    """Candidates for each file of the manifest.

    Args:
        store: directories of other repositories, whole or not.
        directories: searched with everything below them.
        cache: the hub's cache directory, or None to leave it alone.

    Raises:
        UserError: a directory does not exist.
    """

    def __init__(self, store: Store, directories: Iterable[Path], cache: Path | None) -> None:
        self._store = store
        self._cache = cache
        self._by_size: dict[int, list[Path]] = {}
        self._hashes: dict[tuple[str, int, int], str] = {}
        self._lock = Lock()
        for directory in directories:
            if not directory.is_dir():
                raise UserError(f"{directory} is not a directory", "check --from")
            self._scan(directory)

    def _scan(self, directory: Path) -> None:
        for top, _, names in os.walk(directory):
            for name in names:
                path = Path(top, name)
                if path.is_file() and not name.endswith(".part"):
                    self._by_size.setdefault(path.stat().st_size, []).append(path)

    def candidates(self, repository: ModelRepository, entry: ModelFile) -> Iterator[Path]:
        """Yield files of the right size that may be the wanted one, likeliest first."""
        given = self._by_size.get(entry.size, [])
        yield from sorted(given, key=lambda path: (path.name != Path(entry.path).name, str(path)))
        for name in self._store.names():
            for directory in (self._store.final(name), self._store.staging(name)):
                for path, record in read_records(directory).items():
                    if record.sha256 == entry.sha256:
                        yield directory / path
        if self._cache is not None:
            folder = "models--" + repository.repository.replace("/", "--")
            yield self._cache / folder / "snapshots" / repository.revision / entry.path
            yield from self._cache.glob(f"models--*/blobs/{entry.sha256}")

    def find(self, repository: ModelRepository, entry: ModelFile, stop: Event) -> Path | None:
        """Return a file whose content is the wanted one, or None. Hashes candidates."""
        for candidate in self.candidates(repository, entry):
            try:
                path = candidate.resolve(strict=True)
                if path.stat().st_size == entry.size and self._sha256(path, stop) == entry.sha256:
                    return path
            except OSError:
                continue  # unreadable or gone: not a candidate
        return None

    def _sha256(self, path: Path, stop: Event) -> str:
        stat = path.stat()
        key = (str(path), stat.st_size, stat.st_mtime_ns)
        with self._lock:
            known = self._hashes.get(key)
        if known is None:
            known = file_sha256(path, stop=stop)
            with self._lock:
                self._hashes[key] = known
        return known


def place(source: Path, target: Path) -> str:
    """Put the content of ``source`` at ``target`` as cheaply as the disk allows.

    Returns:
        How: ``reflink``, ``hard link`` or ``copy``. A copy must be hashed by the caller.

    Raises:
        OSError: none of the three works.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + ".new.part")
    draft.unlink(missing_ok=True)
    for how, attempt in (("reflink", _reflink), ("hard link", os.link)):
        try:
            attempt(source, draft)
        except OSError:
            draft.unlink(missing_ok=True)
            continue
        draft.rename(target)
        return how
    try:
        _copy(source, draft)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    draft.rename(target)
    return "copy"


def _reflink(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        os.fsync(writer.fileno())


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        shutil.copyfileobj(reader, writer, 4 << 20)
        writer.flush()
        os.fsync(writer.fileno())
