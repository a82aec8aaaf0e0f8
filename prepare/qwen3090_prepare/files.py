"""Small promises about files: whole writes, hashes, links that fall back, atomic swaps."""

import contextlib
import ctypes
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

_FICLONE = 0x40049409
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
CHUNK = 1 << 22


def sha256(path: Path, seen: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a file; ``seen`` is told the bytes of each chunk."""
    digest = hashlib.sha256()
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(view[:count])
            seen(count)
    return digest.hexdigest()


def read_at(fd: int, view: memoryview, offset: int) -> None:
    """Fill ``view`` from ``offset``; a short file is an OSError."""
    done = 0
    while done < len(view):
        count = os.preadv(fd, [view[done:]], offset + done)
        if count == 0:
            raise OSError(f"file ended at byte {offset + done}; it was changed while being read")
        done += count


def write_at(fd: int, data: memoryview, offset: int) -> None:
    """Write all of ``data`` at ``offset``."""
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], offset + done)


def write_whole(path: Path, data: bytes) -> None:
    """Write a small file so that after a crash it is either the old one or the new one."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def place(source: Path, target: Path) -> None:
    """Hard-link a file; across file systems or owners reflink it, else copy it."""
    real = source.resolve()
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        os.link(real, part)
    except OSError:
        with real.open("rb") as reader, part.open("xb") as writer:
            try:
                fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
            except OSError:
                shutil.copyfileobj(reader, writer, CHUNK)
            writer.flush()
            os.fsync(writer.fileno())
    part.replace(target)
    # rename() of two links to one inode does nothing and leaves the first name behind.
    part.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_directory(directory: Path) -> None:
    """Make renames and links in a directory durable."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def publish(staged: Path, target: Path) -> None:
    """Give the directory ``staged`` the name ``target`` in one step.

    An existing ``target`` is exchanged with it (and is then ``staged``). File systems without
    an exchange get two renames; a crash between them leaves the old one beside the target.
    """
    if not target.exists():
        staged.rename(target)
        sync_directory(target.parent)
        return
    with contextlib.suppress(OSError):
        target.chmod(target.stat().st_mode | 0o700)  # a read-only one cannot change its parent
    if not _exchange(staged, target):
        aside = target.with_name(f".{target.name}.old")
        target.rename(aside)
        staged.rename(target)
        aside.rename(staged)
    sync_directory(target.parent)


def _exchange(one: Path, other: Path) -> bool:
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = (os.fsencode(one), os.fsencode(other))
    return bool(renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
