"""``prefix``: what a second, different question on the same document costs after the first."""

from qwen3090.bench.asks import Ask, Plan, user
from qwen3090.bench.runner import Options
from qwen3090.bench.suites.fit import QUIET, manual, room
from qwen3090.bench.target import Target

LENGTH, OUTPUT, WARMUPS, REPEATS = 24_000, 128, 1, 3
SHOWS = ("ttft", "prefill", "e2e", "decode", "prompt_tokens", "cached_tokens")
QUESTIONS = {
    "first question": "Which node does section 3 describe, and where does it stand?",
    "second question": "What went wrong with the node of section 4, and what did the crew do?",
}


def plan(target: Target, options: Options) -> Plan:
    """Return two questions on one document."""
    output = options.output or OUTPUT
    length, notes = room(target, output, LENGTH, QUESTIONS.values())
    text = manual(target, length)
    asks = [
        Ask(row, user(f"{text}\n---\n\n{question}"), output, "document", extra=QUIET)
        for row, question in QUESTIONS.items()
    ]
    notes.append("every repeat has a document that is new to the prefix cache")
    return Plan(
        suite="prefix",
        about=f"Two different questions on the same document of {length:,} tokens.",
        shows=SHOWS,
        asks=tuple(asks),
        warmups=WARMUPS,
        repeats=REPEATS,
        notes=tuple(notes),
    )
