"""``chat``: eight prompts of our own, one stream, thinking as the server does by default."""

import tomllib
from pathlib import Path

from qwen3090.bench.asks import Ask, Plan, user
from qwen3090.bench.runner import Options
from qwen3090.bench.target import Target

PROMPTS = Path(__file__).parent.parent / "data" / "prompts.toml"
OUTPUT, WARMUPS, REPEATS = 1024, 3, 3
SHOWS = ("decode", "ttft", "e2e", "e2e_rate", "tokens_per_step", "output_tokens")
FRAME = 640  # tokens that the longest prompt may take in a coarse vocabulary


def prompts() -> list[tuple[str, str]]:
    """Return (row, text) of each prompt."""
    entries = tomllib.loads(PROMPTS.read_text(encoding="utf-8"))["prompt"]
    return [(entry["row"], entry["text"].strip()) for entry in entries]


def plan(target: Target, options: Options) -> Plan:
    """Return the requests for this server."""
    output = options.output or max(16, min(OUTPUT, target.context - FRAME))
    asks = [
        Ask(row, user(text), output, unit=str(number))
        for number, (row, text) in enumerate(prompts())
    ]
    notes = [f"answers end at {output:,} tokens"]
    return Plan(
        suite="chat",
        about="Eight prompts written for this, one at a time.",
        shows=SHOWS,
        asks=tuple(asks),
        warmups=WARMUPS,
        repeats=REPEATS,
        notes=tuple(notes),
    )
