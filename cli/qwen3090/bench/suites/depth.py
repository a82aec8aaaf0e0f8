"""``depth``: how decode and prefill change with the tokens that are already there."""

from qwen3090.bench.asks import Ask, Plan, user
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.runner import Options
from qwen3090.bench.suites.fit import QUIET, around, lengths, manual
from qwen3090.bench.target import Target

LENGTHS = (4_096, 8_192, 16_384, 32_768, 65_536, 100_000, 131_072, 200_000, 250_000)
OUTPUT, WARMUPS, REPEATS = 256, 1, 2
SHOWS = ("decode", "tokens_per_step", "ttft", "prefill", "e2e", "prompt_tokens")
QUESTION = (
    "Write a report on the incidents of the manual, node by node, in full sentences, beginning "
    "with the last node that it names."
)


def plan(target: Target, options: Options) -> Plan:
    """Return one request a length that fits."""
    output = options.output or OUTPUT
    fit, notes = lengths(target, options.lengths or LENGTHS, output)
    kept = around(target, [QUESTION])
    if fit[0] < 2 * kept:
        raise InvalidRun(f"a prompt of {fit[0]} tokens has no room for a document", "--lengths N,N")
    asks = [
        Ask(
            row=f"{length:,}",
            messages=user(f"{manual(target, length - kept)}\n---\n\n{QUESTION}"),
            max_tokens=output,
            unit=str(length),
            extra={**QUIET, "ignore_eos": True},
        )
        for length in fit
    ]
    notes.append(f"every answer has {output} tokens; every prompt is new to the prefix cache")
    return Plan(
        suite="depth",
        about="The manual up to a length, then a question; one at a time.",
        shows=SHOWS,
        asks=tuple(asks),
        warmups=WARMUPS,
        repeats=REPEATS,
        axis="prompt tokens",
        notes=tuple(notes),
    )
