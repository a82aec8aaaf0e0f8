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
RESERVED = 8  # directions kept free of tokens; the first ones have the uses below
CONSTANT, MASK = 0, 1


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
    """Chain reasoning and answer: newline, reasoning, </think>, blank line, answer, <|im_end|>.

    Tokens outside the chain are followed by the first word of the answer.

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
    doubles = {token for token in chain if chain.count(token) > 1}
    if doubles:
        names = sorted(tokenizer.id_to_token(token) for token in doubles)
        raise ValueError(f"the demo's text uses these tokens twice: {names}")
    successor = np.full(dims.vocab, answer[0], dtype=np.int64)
    successor[chain] = [*chain[1:], chain[0]]
    return Story(tuple(chain), successor)


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
