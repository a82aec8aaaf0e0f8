"""Writes the list in the two forms that ``prepare`` reads, each whole or not at all."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError


def ids_sha256(ids: Any) -> str:
    """Return the sha256 of the ids as little-endian int64: the same list, the same hash."""
    return hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()


def write_ids(path: Path, ids: Any) -> list[Path]:
    """Write ``path`` (a torch file, int64 [N]) and the same list as JSON beside it.

    Raises:
        UserError: the name does not end in .pt, or the files cannot be written.
    """
    if path.suffix != ".pt":
        raise UserError(f"--out {path} must end in .pt", "e.g. --out mtp_draft_vocab_ids.pt")
    import torch

    buffer = io.BytesIO()
    torch.save(torch.from_numpy(ids), buffer)
    listed = path.with_suffix(".json")
    try:
        _write(path, buffer.getvalue())
        _write(listed, (json.dumps(ids.tolist()) + "\n").encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "give another --out") from None
    return [path, listed]


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".new")
    with draft.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(path)
