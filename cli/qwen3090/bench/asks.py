"""What a suite asks: requests as data, made unique when they are sent, hashed as written."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = Mapping[str, str]


@dataclass(frozen=True)
class Ask:
    """One chat request.

    Attributes:
        row: the line of the table that it belongs to.
        messages: the conversation, the first message from the user.
        max_tokens: the longest answer.
        unit: asks of one repeat with the same unit share one session number, so that a second one
            meets the first in the prefix cache and the first meets nothing; None sends the
            messages as they are.
        extra: further keys of the request.
        verbatim: text that the answer is to reproduce, or None.
    """

    row: str
    messages: tuple[Message, ...]
    max_tokens: int
    unit: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    verbatim: str | None = None


@dataclass(frozen=True)
class Plan:
    """What a suite does on one server.

    Attributes:
        suite: its name.
        about: one sentence.
        shows: quantities of its table.
        asks: one repeat of its requests, in order.
        warmups: how many requests to send first and leave out.
        repeats: how often to send all.
        axis: what the rows' numbers mean in the picture; "" when rows are kinds.
        notes: what was left out.
    """

    suite: str
    about: str
    shows: tuple[str, ...]
    asks: tuple[Ask, ...]
    warmups: int
    repeats: int
    axis: str = ""
    notes: tuple[str, ...] = ()


def user(text: str) -> tuple[Message, ...]:
    """Return a conversation of one message."""
    return ({"role": "user", "content": text},)


def session_number(run: str, repeat: int, unit: str) -> int:
    """Return twelve digits that differ between runs, repeats and units.

    Always twelve, since the tokenizer of the model splits numbers into digits: every prompt stays
    as long as it was.
    """
    digest = hashlib.sha256(f"{run}/{repeat}/{unit}".encode()).digest()
    return 10**11 + int.from_bytes(digest[:8], "big") % (9 * 10**11)


def numbered(text: str, number: int) -> str:
    """Return a text that begins with its session number: no prefix of it was cached before."""
    return f"Session {number}.\n\n{text}"


def body(ask: Ask, run: str, repeat: int, seed: int, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request to send.

    Args:
        run: differs for each run of the bench.
        repeat: which repeat; warm-ups have negative ones.
        seed: this request's seed.
        sampling: keys such as temperature; empty leaves the server's own.
    """
    messages = [dict(message) for message in ask.messages]
    if ask.unit is not None:
        number = session_number(run, repeat, ask.unit)
        messages[0]["content"] = numbered(messages[0]["content"], number)
    limits = {"max_tokens": ask.max_tokens, "seed": seed}
    return {"messages": messages, **limits, **sampling, **ask.extra}


def prompts_hash(asks: Sequence[Ask]) -> str:
    """Return the sha256 (hex) over all requests as they are written."""
    plain = [[ask.row, list(ask.messages), ask.max_tokens, dict(ask.extra)] for ask in asks]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
