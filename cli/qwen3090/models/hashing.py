"""sha256 at disk speed: hashlib releases the interpreter lock, so plain threads use every core."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Event

CHUNK = 4 << 20


class Stopped(Exception):
    """The run was asked to end; what is on disk stays."""


def hash_into(
    digest: "hashlib._Hash",
    path: Path,
    *,
    limit: int | None = None,
    advance: Callable[[int], None] | None = None,
    stop: Event | None = None,
) -> int:
    """Feed a file, or its first ``limit`` bytes, to a digest; return the bytes read.

    Raises:
        OSError: the file cannot be read.
        Stopped: ``stop`` was set.
    """
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    done = 0
    with path.open("rb", buffering=0) as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        while limit is None or done < limit:
            if stop is not None and stop.is_set():
                raise Stopped
            room = CHUNK if limit is None else min(CHUNK, limit - done)
            count = stream.readinto(view[:room])
            if not count:
                break
            digest.update(view[:count])
            done += count
            if advance:
                advance(count)
    return done


def file_sha256(
    path: Path, *, advance: Callable[[int], None] | None = None, stop: Event | None = None
) -> str:
    """Return the hexadecimal sha256 of a file."""
    digest = hashlib.sha256()
    hash_into(digest, path, advance=advance, stop=stop)
    return digest.hexdigest()


def many_sha256(
    paths: Iterable[Path], *, jobs: int | None = None, advance: Callable[[int], None] | None = None
) -> Iterator[tuple[Path, str | OSError]]:
    """Hash files in parallel, largest first; yield each with its sha256 or the error met.

    Args:
        paths: existing files.
        jobs: threads; default one per core this process may use.
        advance: called with byte counts as they are read, from any thread.
    """
    jobs = jobs or len(os.sched_getaffinity(0))
    ordered = sorted(paths, key=lambda path: path.stat().st_size, reverse=True)
    stop = Event()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = {pool.submit(file_sha256, p, advance=advance, stop=stop): p for p in ordered}
        try:
            for future in as_completed(futures):
                try:
                    yield futures[future], future.result()
                except OSError as error:
                    yield futures[future], error
        finally:
            stop.set()
