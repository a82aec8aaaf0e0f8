"""What the demo model says: every token has one fixed successor.

Each token's embedding points at its successor and the head reads that pointer, so the
greedy text is readable and the same whatever the number format, kernel or speculation:
the winning logit leads by far more than any of them can move it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qwen3090.demo.dims import Dims
from qwen3090.demo.tokenizer import special_id

REASONING = "Okay, the demo needs no long thought here."
ANSWER = (
    "Hello! I am a toy model with made-up weights: each word of mine points at its successor;"
    " so greedy text stays equal whatever kernel computed it"
    " (speculative drafts nearly always match) - ask again?"
)
# A call of the demo's tool, as token texts: no token twice, so without some of the usual line ends.
CALL = (
    *("<tool_call>", "<function", "=get", "_weather", "><", "parameter", "=city", ">", "Paris"),
    *("</", "param", "eter", "></", "function", ">\n", "</tool_call>"),
)
CITY = "Paris"
# Directions kept free of tokens and of what layers add: on in every row, in the drafter's mask
# token, in <tool_call>, in <tool_response>, in the blank line, and "a call is due" (detector.py).
CONSTANT, MASK, CALLED, ANSWERED, BLANK, DUE = range(6)
RESERVED = 8


@dataclass(frozen=True)
class Story:
    """The successor of every token.

    Attributes:
        tokens: ids that are successors, in the order they are first said.
        successor: int64 [vocab], the id that follows each id.
    """

    tokens: tuple[int, ...]
    successor: NDArray[np.int64]

    def direction(self, token: int) -> int:
        """Return the index of the direction that stands for ``token`` as a successor."""
        return RESERVED + self.tokens.index(token)


def build(dims: Dims, tokenizer: Any) -> Story:
    """Chain newline, reasoning, </think>, blank line, answer, <|im_end|>; and a call, <|im_end|>.

    Tokens outside the chains are followed by the first word of the answer. What a blank line is
    followed by when a call is due is not told here: detector.py adds it.

    Raises:
        ValueError: a token occurs twice in the chain, so that its successor is not unique.
    """

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    answer = ids(ANSWER)
    end = special_id(dims, "<|im_end|>")
    chain = [
        *ids("\n"),
        *ids(REASONING),
        special_id(dims, "</think>"),
        *ids("\n\n"),
        *answer,
        end,
    ]
    call = [piece_id(tokenizer, text) for text in CALL]
    said = [*chain, *call]
    doubles = {token for token in said if said.count(token) > 1}
    if doubles:
        names = sorted(tokenizer.id_to_token(token) for token in doubles)
        raise ValueError(f"the demo's text uses these tokens twice: {names}")
    successor = np.full(dims.vocab, answer[0], dtype=np.int64)
    successor[chain] = [*chain[1:], chain[0]]
    successor[call] = [*call[1:], end]
    return Story(tuple(said), successor)


def piece_id(tokenizer: Any, text: str) -> int:
    """Return the id of the one token that is written ``text``.

    Raises:
        ValueError: there is no such token.
    """
    found = tokenizer.token_to_id(text.replace("\n", "\u010a"))  # byte-level BPE's line end
    if found is None:
        raise ValueError(f"the vocabulary has no token {text!r}; add it to corpus.txt")
    return int(found)


def draft_vocabulary(dims: Dims, story: Story, forced: Sequence[int]) -> list[int]:
    """Return the draft head's ids: forced ids, the chain, then the lowest ids; sorted, unique."""
    chosen = set(forced) | set(story.tokens)
    for token in range(dims.vocab):
        if len(chosen) >= dims.draft_vocab:
            break
        chosen.add(token)
    if len(chosen) != dims.draft_vocab:
        raise ValueError(f"{len(chosen)} draft ids are forced, {dims.draft_vocab} fit")
    return sorted(chosen)
