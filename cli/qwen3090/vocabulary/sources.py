"""Reads the model's outputs as documents: texts to tokenize, or token ids as they are."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError

# Where common tools put an output, in the order they are tried.
FIELDS = (
    "token_ids",
    "output_token_ids",
    "text",
    "output",
    "response",
    "completion",
    "generated_text",
    "choices.0.message.content",
    "choices.0.text",
    "content",
)
BLOCK = 64 << 10  # characters of a plain text file that count as one document
SUFFIXES = (".jsonl", ".txt", ".md", ".npy")


@dataclass(frozen=True)
class Document:
    """One output: its text, or its token ids."""

    text: str | None = None
    ids: Sequence[int] | None = None


def documents(path: Path, field: str | None) -> Iterator[Document]:
    """Yield the documents of a file.

    Args:
        path: ``.jsonl`` (a record, a text or a list of ids a line), ``.txt`` or ``.md`` (blocks of
            whole lines), ``.npy`` (integers, 1-D: one document; 2-D: one a row).
        field: dotted path of the output within a record; None tries the usual ones.

    Raises:
        UserError: the file cannot be read, or a line holds no output; names the line.
    """
    if path.suffix not in SUFFIXES:
        raise UserError(
            f"{path} is neither of {', '.join(SUFFIXES)}", "rename it, or convert it to JSONL"
        )
    try:
        if path.suffix == ".npy":
            yield from _array(path)
        elif path.suffix == ".jsonl":
            yield from _lines(path, field)
        else:
            yield from _blocks(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}", "check the file") from None


def _lines(path: Path, field: str | None) -> Iterator[Document]:
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                found = _output(json.loads(line), field)
            except json.JSONDecodeError as error:
                raise UserError(f"{path}:{number} is not JSON: {error}", "mend the line") from None
            if found is None:
                what = f"field '{field}'" if field else f"none of {', '.join(FIELDS)}"
                raise UserError(
                    f"{path}:{number} holds no output ({what})", "name its place with --field"
                )
            yield found


def _output(record: Any, field: str | None) -> Document | None:
    if not isinstance(record, dict):
        return _document(record)
    for name in (field,) if field else FIELDS:
        value: Any = record
        for part in name.split("."):
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                value = None
        if value is not None:
            return _document(value)
    return None


def _document(value: Any) -> Document | None:
    if isinstance(value, str):
        return Document(text=value)
    if isinstance(value, list) and all(type(item) is int for item in value):
        return Document(ids=value)
    return None


def _blocks(path: Path) -> Iterator[Document]:
    block: list[str] = []
    size = 0
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            block.append(line)
            size += len(line)
            if size >= BLOCK:
                yield Document(text="".join(block))
                block, size = [], 0
    if block:
        yield Document(text="".join(block))


def _array(path: Path) -> Iterator[Document]:
    import numpy as np

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise UserError(f"{path} is not a NumPy array: {error}", "check the file") from None
    if array.ndim not in (1, 2) or not np.issubdtype(array.dtype, np.integer):
        raise UserError(
            f"{path} holds {array.dtype} {list(array.shape)}, expected integers, 1-D or 2-D",
            "save the token ids as int64",
        )
    for row in array if array.ndim == 2 else [array]:
        yield Document(ids=row)
