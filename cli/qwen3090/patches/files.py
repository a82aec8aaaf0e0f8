"""Rewrites a file of the patches folder whole, so that a kill leaves the old or the new."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def editing(directory: Path) -> Iterator[None]:
    """Hold a folder's lock while a file in it is read, changed and written back.

    Raises:
        OSError: the folder cannot be opened or locked.
    """
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace_text(path: Path, data: bytes) -> None:
    """Write a file through a neighbour and a rename; mode 0644.

    Raises:
        OSError: it cannot be written; the old file is intact.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.chmod(0o644)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
