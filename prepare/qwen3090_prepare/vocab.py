"""Draft vocabulary lists: the ids that the MTP drafter may propose, checked before use."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3090_prepare.errors import PrepareError

Ids = NDArray[np.int64]
_CURE = "give a 1-D int64 tensor (.pt) or a JSON list (.json) of sorted, distinct token ids"


def read_ids(path: Path, vocabulary: int) -> Ids:
    """Read a list of token ids: a ``torch.save``d int64 vector (.pt) or a JSON list (.json).

    Args:
        path: the file.
        vocabulary: rows of the head; every id must be below.

    Raises:
        PrepareError: absent or unreadable, not 1-D int64, empty, unsorted, repeated, out of range.
    """
    if not path.is_file():
        raise PrepareError(f"{path}: no such draft vocabulary file", _CURE)
    ids = _from_json(path) if path.suffix == ".json" else _from_torch(path)
    if ids.size == 0:
        raise PrepareError(f"{path}: the draft vocabulary is empty", _CURE)
    steps = np.flatnonzero(np.diff(ids) <= 0)
    if steps.size:
        at = int(steps[0])
        raise PrepareError(
            f"{path}: not sorted and distinct: {ids[at]} is followed by {ids[at + 1]}", _CURE
        )
    if ids[0] < 0 or ids[-1] >= vocabulary:
        bad = ids[0] if ids[0] < 0 else ids[-1]
        raise PrepareError(f"{path}: id {bad} is outside the head's {vocabulary} rows", _CURE)
    return ids


def _from_json(path: Path) -> Ids:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise PrepareError(f"{path}: not valid JSON: {error}", _CURE) from error
    if not isinstance(content, list) or any(type(item) is not int for item in content):
        raise PrepareError(f"{path}: not a list of whole numbers", _CURE)
    try:
        return np.array(content, dtype=np.int64)
    except OverflowError as error:
        raise PrepareError(f"{path}: a number does not fit 64 bits", _CURE) from error


def _from_torch(path: Path) -> Ids:
    import torch

    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged file
        raise PrepareError(f"{path}: not a readable torch file: {error}", _CURE) from error
    if isinstance(content, torch.Tensor) and (content.layout != torch.strided or content.is_nested):
        raise PrepareError(f"{path}: holds a sparse or nested tensor, expected a plain one", _CURE)
    if not isinstance(content, torch.Tensor) or content.dtype != torch.int64 or content.dim() != 1:
        kind = (
            f"{content.dtype} {list(content.shape)}"
            if isinstance(content, torch.Tensor)
            else type(content).__name__
        )
        raise PrepareError(f"{path}: holds {kind}, expected int64 [N]", _CURE)
    found: Ids = content.numpy().copy()
    return found


def ids_file(path: Path, ids: Ids) -> bytes:
    """Return the bytes of ``mtp_draft_vocab_ids.pt``: the file itself, or the JSON list as one."""
    if path.suffix != ".json":
        return path.read_bytes()
    import torch

    buffer = io.BytesIO()
    torch.save(torch.from_numpy(ids), buffer)
    return buffer.getvalue()
