"""safetensors headers, read with every check and written byte for byte as the library writes them.

The library maps whole files and gives no offsets; streaming rows in constant memory needs both the
offsets of the source and the layout of the target before any data exists.
"""

import json
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090_prepare.errors import FETCH_AGAIN, PrepareError

# dtype -> bytes per element, in the library's order (its writer sorts by dtype, widest first).
ITEM_SIZE = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E5M2": 1,
    "F8_E4M3": 1,
    "I16": 2,
    "U16": 2,
    "F16": 2,
    "BF16": 2,
    "I32": 4,
    "U32": 4,
    "F32": 4,
    "F64": 8,
    "I64": 8,
    "U64": 8,
}
_RANK = {dtype: rank for rank, dtype in enumerate(ITEM_SIZE)}
_MAX_HEADER = 100_000_000


@dataclass(frozen=True)
class Spec:
    """Name, dtype and shape of a tensor; ``nbytes`` is its size in a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Payload bytes."""
        return math.prod(self.shape) * ITEM_SIZE[self.dtype]


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: its spec, the file and the absolute byte offset of its first element."""

    spec: Spec
    path: Path
    offset: int


@dataclass(frozen=True)
class Layout:
    """A file to be written: header bytes, absolute offset of each tensor, size of the file."""

    header: bytes
    offsets: dict[str, int]
    size: int


def layout(specs: Iterable[Spec]) -> Layout:
    """Lay tensors out as ``safetensors.torch.save_file(..., metadata={"format": "pt"})`` does."""
    ordered = sorted(specs, key=lambda s: (-_RANK[s.dtype], s.name))
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for spec in ordered:
        end = position + spec.nbytes
        entries[spec.name] = {
            "dtype": spec.dtype,
            "shape": list(spec.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    header = struct.pack("<Q", len(text)) + text
    offsets = {s.name: len(header) + entries[s.name]["data_offsets"][0] for s in ordered}
    return Layout(header, offsets, len(header) + position)


def read_header(path: Path) -> dict[str, Stored]:
    """Return the tensors of one file by name.

    Raises:
        PrepareError: the file is shorter or longer than its header says, the header is not valid
            JSON, names a tensor twice, or an entry's dtype, shape and offsets disagree.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else -1
        if length < 0 or length > size - 8:
            raise PrepareError(
                f"{path}: truncated: {size} bytes, too short for its own header", FETCH_AGAIN
            )
        if length > _MAX_HEADER:
            raise PrepareError(f"{path}: not a safetensors file (header of {length} bytes)")
        text = file.read(length)
    try:
        entries = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise PrepareError(f"{path}: damaged safetensors header: {error}", FETCH_AGAIN) from error
    if not isinstance(entries, dict):
        raise PrepareError(f"{path}: damaged safetensors header: not an object", FETCH_AGAIN)
    entries.pop("__metadata__", None)
    start = 8 + length
    tensors = {name: _stored(path, name, entry, start) for name, entry in entries.items()}
    _check_cover(path, tensors, start, size)
    return tensors


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate tensor '{twice}'")
    return found


def _stored(path: Path, name: str, entry: Any, start: int) -> Stored:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        numbers = [*shape, begin, end]
        valid = all(type(n) is int and n >= 0 for n in numbers) and isinstance(dtype, str)
        name.encode()  # a lone surrogate could not be written again
    except (KeyError, TypeError, ValueError):
        valid = False
    if not valid:
        raise PrepareError(f"{path}: tensor '{name}' has a malformed header entry", FETCH_AGAIN)
    if dtype not in ITEM_SIZE:
        raise PrepareError(f"{path}: tensor '{name}' has the unknown dtype '{dtype}'")
    spec = Spec(name, dtype, shape)
    if end - begin != spec.nbytes:
        raise PrepareError(
            f"{path}: tensor '{name}' has {end - begin} bytes, but {dtype} {list(shape)} "
            f"takes {spec.nbytes}",
            FETCH_AGAIN,
        )
    return Stored(spec, path, start + begin)


def _check_cover(path: Path, tensors: dict[str, Stored], start: int, size: int) -> None:
    position = start
    for tensor in sorted(tensors.values(), key=lambda t: (t.offset, t.spec.nbytes)):
        if tensor.offset != position:
            raise PrepareError(
                f"{path}: tensor '{tensor.spec.name}' starts at byte {tensor.offset}, "
                f"expected {position} (overlap or gap)",
                FETCH_AGAIN,
            )
        position += tensor.spec.nbytes
    if position != size:
        kind = "truncated" if size < position else "longer than its header says"
        raise PrepareError(f"{path}: {kind}: {size} bytes, the header says {position}", FETCH_AGAIN)
