"""Counts tokens and chooses the list; coverage is measured on outputs that were not counted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError
from qwen3090.vocabulary.sources import Document, documents

# The chat template and the tool parser live on these; a draft must be able to propose them.
FORCED = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
_BATCH = 256
_BATCH_CHARACTERS = 4 << 20


@dataclass(frozen=True)
class FileCount:
    """Token counts of one file: arrays int64 [vocabulary], counted and held out."""

    path: Path
    documents: int
    counted: Any
    held_out: Any


def load_tokenizer(path: Path) -> Any:
    """Load ``tokenizer.json``, given as the file or as the checkpoint's directory.

    Raises:
        UserError: there is none, or it cannot be read.
    """
    from tokenizers import Tokenizer

    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"there is no {file}", "give the checkpoint's directory: --tokenizer DIR")
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise UserError(
            f"cannot read {file}: {error}", "fetch it again: qwen3090 models fetch"
        ) from None


def count_file(
    path: Path,
    tokenizer: Any,
    vocabulary: int,
    *,
    field: str | None,
    hold_every: int,
    advance: Callable[[int], None] | None = None,
) -> FileCount:
    """Count a file's tokens; every ``hold_every``-th document goes to the held-out side.

    Args:
        path: file of outputs.
        tokenizer: a ``tokenizers.Tokenizer``.
        vocabulary: number of ids; a larger id is an error.
        field: where the output stands in a JSON record, or None.
        hold_every: at least 2.
        advance: called with tokens counted.

    Raises:
        UserError: bad file, or an id outside the vocabulary.
    """
    import numpy as np

    counts = [np.zeros(vocabulary, dtype=np.int64) for _ in range(2)]
    number = 0
    for batch in _batches(documents(path, field)):
        for ids in _encode(batch, tokenizer):
            array = np.asarray(ids, dtype=np.int64)
            if array.size and (array.min() < 0 or array.max() >= vocabulary):
                bad = int(array.max() if array.max() >= vocabulary else array.min())
                raise UserError(
                    f"{path}: document {number + 1} has token id {bad}, outside the tokenizer's"
                    f" {vocabulary} ids",
                    "count outputs of the same model as the tokenizer's",
                )
            held = number % hold_every == hold_every - 1
            counts[held] += np.bincount(array, minlength=vocabulary)
            number += 1
            if advance:
                advance(array.size)
    return FileCount(path, number, counts[0], counts[1])


def forced_ids(tokenizer: Any, tokens: Sequence[str]) -> list[int]:
    """Return the ids of tokens that must be in the list.

    Raises:
        UserError: the tokenizer has no such token.
    """
    found = {token: tokenizer.token_to_id(token) for token in tokens}
    absent = [token for token, number in found.items() if number is None]
    if absent:
        raise UserError(
            f"the tokenizer has no token {', '.join(absent)}",
            "give the tokenizer of the model that is served",
        )
    return sorted(set(found.values()))


def choose(counts: Any, size: int, forced: Sequence[int]) -> tuple[Any, int]:
    """Choose ``size`` ids: the forced ones, then by count, ties to the lower id.

    Args:
        counts: int64 [vocabulary].
        size: how many ids.
        forced: ids that are in whatever their count.

    Returns:
        int64 [size], sorted, and how many of them were never counted nor forced: with fewer
        distinct tokens than ``size`` the lowest free ids fill up, which are the commonest merges.
    """
    import numpy as np

    weight = counts.copy()
    weight[list(forced)] = np.iinfo(np.int64).max
    order = np.argsort(-weight, kind="stable")[:size]
    filled = int((weight[order] == 0).sum())
    return np.sort(order).astype(np.int64), filled


def coverage(held_out: Any, ids: Any) -> float | None:
    """Return the share of held-out tokens that are in the list, or None without any."""
    total = int(held_out.sum())
    return float(held_out[ids].sum() / total) if total else None


def _batches(stream: Iterator[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in stream:
        batch.append(document)
        size += len(document.text or "")
        if len(batch) >= _BATCH or size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encode(batch: list[Document], tokenizer: Any) -> Iterator[Sequence[int]]:
    texts = [document.text for document in batch if document.text is not None]
    encoded = iter(tokenizer.encode_batch(texts, add_special_tokens=False))
    for document in batch:
        yield next(encoded).ids if document.ids is None else document.ids
