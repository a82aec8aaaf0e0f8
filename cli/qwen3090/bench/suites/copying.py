"""``copy``: six tasks on one document of 25,000 tokens, greedy, the document cached by warm-ups."""

from qwen3090.bench.asks import Ask, Plan, user
from qwen3090.bench.document import document_hash
from qwen3090.bench.runner import Options
from qwen3090.bench.suites.fit import QUIET, manual, room
from qwen3090.bench.target import Target

LENGTH, OUTPUT, WARMUPS, REPEATS = 25_000, 512, 2, 2
SHOWS = ("decode", "ttft", "e2e", "tokens_per_step", "verbatim", "output_tokens", "cached_tokens")
LINES = 60
TASKS = {
    "copy": f"Repeat the first {LINES} lines of the manual exactly, beginning with its title. "
    "Write nothing else.",
    "edit": "Write section 2 of the manual again, complete, with every port raised by one and "
    "everything else unchanged. Write nothing else.",
    "quote": "Quote three sentences of the manual word for word that say why a node stopped, and "
    "explain each in a sentence of your own.",
    "commands": "List every shell command of the first eight sections of the manual, one a line, "
    "exactly as written.",
    "summary": "Summarise in your own words what the manual tells about how nodes fail.",
    "question": "Which of the first five nodes has the highest limit, where does it stand, and "
    "what happened to it? Answer in three sentences.",
}


def plan(target: Target, options: Options) -> Plan:
    """Return the requests for this server."""
    output = options.output or min(OUTPUT, target.context // 4)
    length, notes = room(target, output, LENGTH, TASKS.values())
    text = manual(target, length)
    start = "\n".join(text.splitlines()[:LINES])
    asks = [
        Ask(
            row=row,
            messages=user(f"{text}\n---\n\n{task}"),
            max_tokens=output,
            extra={**QUIET, "temperature": 0},
            verbatim=start if row == "copy" else None,
        )
        for row, task in TASKS.items()
    ]
    notes += [
        "greedy, whatever --sampling says; thinking off",
        "TTFT is with the document in the prefix cache, when the server has one",
        f"the manual's first 100,000 characters: sha256 {document_hash(100_000)[:16]}",
    ]
    return Plan(
        suite="copy",
        about=f"Six tasks on the same document of {length:,} tokens, one at a time.",
        shows=SHOWS,
        asks=tuple(asks),
        warmups=WARMUPS,
        repeats=REPEATS,
        notes=tuple(notes),
    )
