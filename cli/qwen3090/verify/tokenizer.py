"""Does the checkpoint's tokenizer know the words that the chat template and the parsers use?

A tokenizer.json without them would cut ``<think>`` into letters, and the reasoning would end up in
the answer.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwen3090.verify.report import Finding, Status

WORDS = (
    "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>",
)  # fmt: skip
FETCH = "qwen3090 models fetch"


def check_tokenizer(directory: Path) -> Iterator[Finding]:
    """Yield whether each word is one added token, and the ends of text are tokens of it."""
    from tokenizers import Tokenizer

    path = directory / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        yield Finding("checkpoint.tokenizer", Status.FAIL, f"{path}: {error}", FETCH)
        return
    added = {
        token.content: number for number, token in tokenizer.get_added_tokens_decoder().items()
    }
    wrong = []
    for word in WORDS:
        ids = tokenizer.encode(word, add_special_tokens=False).ids
        if ids != [added.get(word)]:
            wrong.append(f"{word} becomes {ids}, its added token is {added.get(word)}")
    if wrong:
        text = f"{path}: {'; '.join(wrong)}"
        yield Finding("checkpoint.tokenizer", Status.FAIL, text, FETCH)
        return
    shown = ", ".join(f"{word} {added[word]}" for word in WORDS[:3])
    yield Finding("checkpoint.tokenizer", Status.PASS, f"each marker is one token ({shown})")
    yield from _ends(directory, {*added.values()})


def _ends(directory: Path, added: set[int]) -> Iterator[Finding]:
    """Answers end at generation_config.json's tokens; with wrong ones they never do."""
    path = directory / "generation_config.json"
    ends = _json(path).get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    wrong = [end for end in ends if end not in added]
    if wrong:
        text = f"{path}: eos_token_id {wrong[0]!r} is none of the tokenizer's added tokens"
        yield Finding("checkpoint.end-tokens", Status.FAIL, text, FETCH)
    else:
        yield Finding("checkpoint.end-tokens", Status.PASS, f"answers end at {ends}")


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
