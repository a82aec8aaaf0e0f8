"""One lock per model directory: two runs never share one; a killed run leaves no lock."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from qwen3090.errors import UserError


@contextmanager
def directory_lock(
    path: Path, *, wait: bool = True, on_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold an exclusive ``flock`` on the file ``path`` (made when missing, never removed).

    Args:
        path: lock file; its content is the holder's process id, for messages only.
        wait: block until the holder ends; otherwise fail at once.
        on_wait: called once with the holder's process id before blocking.

    Raises:
        UserError: the lock is held and ``wait`` is false, or the file cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UserError(
            f"cannot make the lock {path}: {error.strerror}",
            "give a directory you may write: --dir DIR, or QWEN3090_STATE",
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            if not wait:
                raise UserError(
                    f"process {holder} works on {path.parent} (lock {path.name})",
                    "wait for it to end, then run the same command again",
                ) from None
            if on_wait:
                on_wait(holder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)
