"""Every quantity that a report holds: its name, unit, and which way is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """One measured quantity.

    Attributes:
        key: its key in the JSON report.
        title: its column heading, with the unit.
        digits: digits after the point.
        better: +1 when more is better, -1 when less is, 0 when neither.
        meaning: how it is computed.
    """

    key: str
    title: str
    digits: int
    better: int
    meaning: str


QUANTITIES = {
    entry.key: entry
    for entry in (
        Quantity(
            "decode",
            "decode, tok/s",
            1,
            1,
            "tokens after the first chunk / time from the first chunk to the last, of one stream",
        ),
        Quantity("ttft", "TTFT, s", 3, -1, "from sending a request to its first token"),
        Quantity("e2e", "end to end, s", 3, -1, "from sending a request to the end of its stream"),
        Quantity(
            "e2e_rate",
            "end to end, tok/s",
            1,
            1,
            "tokens of an answer / its end-to-end time, waiting for the first token included",
        ),
        Quantity(
            "tokens_per_step",
            "tok/step",
            2,
            1,
            "1 + accepted drafts / steps with a draft, by the server's own counters",
        ),
        Quantity(
            "prefill",
            "prefill, tok/s",
            0,
            1,
            "prompt tokens that the prefix cache did not have / TTFT",
        ),
        Quantity(
            "throughput",
            "all streams, tok/s",
            1,
            1,
            "tokens of all streams / time from the first request to the last answer",
        ),
        Quantity("prompt_tokens", "prompt tokens", 0, 0, "as the server counted them"),
        Quantity("output_tokens", "answer tokens", 0, 0, "as the server counted them"),
        Quantity("cached_tokens", "cached tokens", 0, 0, "prompt tokens that the prefix cache had"),
        Quantity(
            "verbatim",
            "verbatim",
            2,
            1,
            "share of the answer that equals the text it was to reproduce, from its start",
        ),
        Quantity("ready", "ready, s", 1, -1, "from starting the process to READY"),
        Quantity(
            "first_token", "first token, s", 1, -1, "from starting the process to a user's token"
        ),
    )
}
