"""Do two greedy answers to the same request agree, and if not, was it a tie?

The same prompt may go through other kernels when part of it was cached: two tokens that are almost
equally likely may then change places. That is numerics. A different text without a tie is a bug.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.target import Target

TIE = 0.5  # nats between two tokens of the first answer that may change places
TOP = 5


@dataclass(frozen=True)
class Reply:
    """A greedy answer: its text, its tokens, and the likeliest tokens of each place by text."""

    text: str
    tokens: tuple[str, ...]
    likely: tuple[dict[str, float], ...]


def greedy(target: Target, body: dict[str, Any]) -> Reply:
    """Send a chat request greedily, with log probabilities.

    Raises:
        InvalidRun: the request failed or had no token.
    """
    extra = {"temperature": 0, "logprobs": True, "top_logprobs": TOP}
    answer = target.post("/v1/chat/completions", {**body, **extra})
    try:
        choice = answer["choices"][0]
        entries = choice["logprobs"]["content"]
        tokens = tuple(str(entry["token"]) for entry in entries)
        likely = tuple(
            {str(top["token"]): float(top["logprob"]) for top in entry["top_logprobs"]}
            for entry in entries
        )
        text = str(choice["message"]["content"] or "")
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidRun(f"the server gave no answer with logprobs: {error!r}") from None
    if not tokens:
        raise InvalidRun("an answer has no token")
    return Reply(text, tokens, likely)


def departs(cold: Reply, warm: Reply) -> int | None:
    """Return the first place where the tokens differ, or None when one begins the other."""
    pairs: Sequence[tuple[str, str]] = list(zip(cold.tokens, warm.tokens, strict=False))
    for place, (mine, its) in enumerate(pairs):
        if mine != its:
            return place
    return None if len(cold.tokens) == len(warm.tokens) else len(pairs)


def is_tie(cold: Reply, warm: Reply, place: int) -> bool:
    """Return whether the cold answer held both tokens of a place for almost equally likely."""
    if place >= min(len(cold.tokens), len(warm.tokens)):
        return False
    likely = cold.likely[place]
    mine, its = likely.get(cold.tokens[place]), likely.get(warm.tokens[place])
    return mine is not None and its is not None and abs(mine - its) <= TIE
