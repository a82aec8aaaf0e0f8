"""Rewrites a file of the patches folder whole, so that a kill leaves the old or the new."""

import os
import tempfile
from pathlib import Path


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
