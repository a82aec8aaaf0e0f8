"""``ladder``: 1 to 64 streams at once, through ``vllm bench serve``.

Real prompts (the chat set, each with a number of its own), because random tokens measure nothing
about speculation. All answers have the same length, so that every stream stays to the end.
"""

import hashlib
import json
import tempfile
from pathlib import Path

from qwen3090.bench.asks import numbered, session_number
from qwen3090.bench.counters import Counted, counting, keep_up
from qwen3090.bench.results import Row, SuiteResult
from qwen3090.bench.runner import Options, Say
from qwen3090.bench.suites.chat import prompts
from qwen3090.bench.target import Target
from qwen3090.bench.vllm_bench import VllmBench, samples, tokenizer_of

STREAMS = (1, 2, 4, 8, 16, 32, 64)
OUTPUT, WARMUPS, REPEATS = 256, 1, 2
SHOWS = ("throughput", "decode", "ttft", "e2e", "tokens_per_step")


def run(target: Target, options: Options, say: Say) -> SuiteResult:
    """Run every rung: warm-up rounds that are left out, then the measured ones.

    Raises:
        InvalidRun: a request failed, or somebody else used the server.
    """
    warmups = WARMUPS if options.warmups is None else options.warmups
    repeats = REPEATS if options.repeats is None else options.repeats
    output = options.output or min(OUTPUT, target.context // 4)
    rungs, notes = _rungs(options)
    described = json.dumps([prompts(), output, rungs])
    result = SuiteResult(
        suite="ladder",
        about=f"Streams at once, each asking one of the chat prompts for {output} tokens.",
        shows=SHOWS,
        axis="streams",
        warmups=warmups,
        repeats=repeats,
        prompts=hashlib.sha256(described.encode()).hexdigest(),
        notes=[
            *notes,
            "by vllm bench serve, which gives all requests one seed",
            "warm-ups and repeats are rounds of one request a stream",
            "TTFT and end to end hold the wait for a seat when there are more streams than seats",
        ],
    )
    with VllmBench(target, tokenizer_of(target, options.tokenizer)) as bench:
        for streams in rungs:
            row = Row(str(streams))
            for number in range(-warmups, repeats):
                with (
                    tempfile.TemporaryDirectory(prefix="qwen3090-") as folder,
                    counting(target, streams) as counted,
                ):
                    file = _dataset(Path(folder), f"{options.run}/{streams}", number, streams)
                    arguments = _arguments(file, streams, output, options)
                    found = bench.run(streams, arguments)
                keep_up(
                    f"ladder, {streams} streams", [sum(gaps) for gaps in found["itls"]], counted
                )
                if number >= 0:
                    _add(row, counted, found)
                    say(
                        f"ladder: {streams} streams, {number + 1} of {repeats}: "
                        f"{found['output_throughput']:.1f} tok/s"
                    )
            result.rows.append(row)
    return result


def _rungs(options: Options) -> tuple[tuple[int, ...], list[str]]:
    if options.streams:
        return options.streams, []
    if options.seats is None:
        return STREAMS, []
    kept = tuple(n for n in STREAMS if n <= options.seats)
    left = ", ".join(str(n) for n in STREAMS if n not in kept)
    note = f"left out, more than the {options.seats} seats: {left} (--streams asks for them)"
    return kept, [note] if left else []


def _dataset(folder: Path, run: str, repeat: int, streams: int) -> Path:
    """Write the prompts as the ``sharegpt`` data set: plain JSON, so it needs no pandas."""
    texts = [text for _, text in prompts()]
    asked = [
        numbered(texts[place % len(texts)], session_number(run, repeat, str(place)))
        for place in range(streams)
    ]
    entries = [{"conversations": [{"value": text}, {"value": "x"}]} for text in asked]
    path = folder / "prompts.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def _arguments(file: Path, streams: int, output: int, options: Options) -> list[str]:
    extra = {"seed": options.seed, **options.sampling}
    return [
        *("--backend", "openai-chat", "--endpoint", "/v1/chat/completions"),
        *("--dataset-name", "sharegpt", "--dataset-path", str(file), "--disable-shuffle"),
        *("--sharegpt-output-len", str(output), "--ignore-eos"),
        *("--max-concurrency", str(streams), "--extra-body", json.dumps(extra)),
    ]


def _add(row: Row, counted: Counted, found: dict[str, float]) -> None:
    row.samples += samples(found)
    whole = {"throughput": found["output_throughput"]}
    if (steps := counted.tokens_per_step) is not None:
        whole["tokens_per_step"] = steps
    row.samples.append(whole)
    row.counted.add(counted)
