"""Runs a suite's requests one after the other: warm-ups left out, each request counted alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qwen3090.bench.asks import Plan, body, prompts_hash
from qwen3090.bench.counters import counting, keep_up
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.results import Row, SuiteResult, sample_of, short
from qwen3090.bench.stream import ask as send
from qwen3090.bench.target import Target

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How to measure; None leaves a number to the suite.

    Attributes:
        run: text that no other run has; keeps this run's prompts out of the prefix cache.
        seed: of the first request; each further one adds 1.
        sampling: keys of every request; empty for the server's own sampling.
        warmups: requests to send first and leave out.
        repeats: how often to measure each request.
        output: longest answer in tokens.
        lengths: prompt lengths in tokens of depth and prefill.
        streams: numbers of streams of the ladder.
        seats: what the server is known to run at once, or None.
        tokenizer: directory of the tokenizer, for what builds prompts here.
    """

    run: str
    seed: int = 1
    sampling: Mapping[str, Any] = field(default_factory=dict)
    warmups: int | None = None
    repeats: int | None = None
    output: int | None = None
    lengths: tuple[int, ...] = ()
    streams: tuple[int, ...] = ()
    seats: int | None = None
    tokenizer: str | None = None


def run_plan(target: Target, plan: Plan, options: Options, say: Say) -> SuiteResult:
    """Send a plan's warm-ups and repeats; return the rows.

    Raises:
        InvalidRun: a request failed, somebody else used the server, a prompt that had to be new
            was cached, or no answer of a row was long enough for a decode rate.
    """
    warmups = plan.warmups if options.warmups is None else options.warmups
    repeats = plan.repeats if options.repeats is None else options.repeats
    result = SuiteResult(
        suite=plan.suite,
        about=plan.about,
        shows=plan.shows,
        axis=plan.axis,
        warmups=warmups,
        repeats=repeats,
        prompts=prompts_hash(plan.asks),
        notes=list(plan.notes),
    )
    sampling, seed = options.sampling, options.seed
    for number in range(warmups):
        chosen = plan.asks[number % len(plan.asks)]
        say(f"{plan.suite}: warm-up {number + 1} of {warmups} ({chosen.row})")
        send(target, body(chosen, options.run, -1 - number, seed + number, sampling))
    rows: dict[str, Row] = {}
    for repeat in range(repeats):
        met: set[str | None] = {None}
        for chosen in plan.asks:
            seed += 1
            with counting(target, 1) as counted:
                answer = send(target, body(chosen, options.run, repeat, seed, sampling))
            keep_up(f"{plan.suite}, {chosen.row}", [answer.span], counted)
            sample = sample_of(answer, counted, chosen.verbatim)
            if chosen.unit not in met and counted.hits:
                raise InvalidRun(
                    f"{plan.suite}: {counted.hits} tokens of a prompt that was never sent before "
                    "came from the prefix cache",
                    "another client sends the same prompts, or the cache is wrong: "
                    "qwen3090 bench quality",
                )
            met.add(chosen.unit)
            row = rows.setdefault(chosen.row, Row(chosen.row))
            row.samples.append(sample)
            row.counted.add(counted)
            say(f"{plan.suite}: {repeat + 1} of {repeats}, {chosen.row}: {_line(sample)}")
    result.rows = list(rows.values())
    if "decode" in plan.shows and (names := short(result.rows)):
        raise InvalidRun(
            f"{plan.suite}: the answers of {', '.join(names)} came in one chunk: no decode rate",
            "ask for longer answers: --output N",
        )
    return result


def _line(sample: Mapping[str, float]) -> str:
    shown = [f"TTFT {sample['ttft']:.3f} s"]
    if "decode" in sample:
        shown.insert(0, f"decode {sample['decode']:.1f} tok/s")
    if "tokens_per_step" in sample:
        shown.append(f"{sample['tokens_per_step']:.2f} tok/step")
    return ", ".join(shown)
