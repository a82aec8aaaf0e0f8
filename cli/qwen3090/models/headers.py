"""The fast check of a weight file: a safetensors header that accounts for every byte."""

import json
import math
import struct
from pathlib import Path

MAX_HEADER = 100 << 20  # the format's own bound
_WIDTH = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16,
    "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


def read_header(path: Path) -> dict[str, tuple[int, int]] | str:
    """Return each tensor's byte range within the payload, or what is wrong with the file.

    Reads the header alone: its length, that it is JSON, that each tensor's byte range fits its
    shape and dtype, that the ranges leave no gap, and that the file ends where they end.

    Raises:
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        first = stream.read(8)
        if len(first) < 8:
            return f"{size} bytes is too short for a safetensors header"
        (length,) = struct.unpack("<Q", first)
        if length > MAX_HEADER or 8 + length > size:
            return f"header length {length} does not fit a file of {size} bytes"
        raw = stream.read(length)
    try:
        entries = {k: v for k, v in json.loads(raw).items() if k != "__metadata__"}
        spans = sorted((*v["data_offsets"], k, v["dtype"], v["shape"]) for k, v in entries.items())
        end = 0
        for start, stop, name, dtype, shape in spans:
            if dtype not in _WIDTH:
                return f"tensor {name} has the unknown dtype {dtype}"
            if start != end or stop - start != _WIDTH[dtype] * math.prod(shape) // 8:
                return f"tensor {name} (bytes {start} to {stop}) leaves a gap or has a wrong length"
            end = stop
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        return f"header is not valid: {type(error).__name__}: {error}"
    if 8 + length + end != size:
        return f"header describes {8 + length + end} bytes, the file has {size}"
    return {name: (start, stop) for start, stop, name, _, _ in spans}
