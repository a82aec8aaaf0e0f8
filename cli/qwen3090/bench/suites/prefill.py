"""``prefill``: random prompts of 1,024 to 100,000 tokens and one token out, by vllm bench serve.

Random tokens fit here: nothing is decoded, and no prompt can be in the prefix cache.
"""

import hashlib
import json

from qwen3090.bench.asks import session_number
from qwen3090.bench.counters import counting
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.results import Row, SuiteResult
from qwen3090.bench.runner import Options, Say
from qwen3090.bench.suites.fit import lengths
from qwen3090.bench.target import Target
from qwen3090.bench.vllm_bench import VllmBench, samples, tokenizer_of

LENGTHS = (1_024, 4_096, 16_384, 65_536, 100_000)
MARGIN = 64  # tokens by which the server may count a random text longer than it was made
WARMUPS, REPEATS = 1, 3
SHOWS = ("prefill", "ttft", "prompt_tokens")


def run(target: Target, options: Options, say: Say) -> SuiteResult:
    """Run every length that fits.

    Raises:
        InvalidRun: a request failed, somebody else used the server, or no length fits.
    """
    warmups = WARMUPS if options.warmups is None else options.warmups
    repeats = REPEATS if options.repeats is None else options.repeats
    fit, notes = lengths(target, options.lengths or LENGTHS, MARGIN)
    result = SuiteResult(
        suite="prefill",
        about="Random prompts of one length, one token out, one at a time.",
        shows=SHOWS,
        axis="prompt tokens",
        warmups=warmups,
        repeats=repeats,
        prompts=hashlib.sha256(json.dumps(["random", fit]).encode()).hexdigest(),
        notes=[*notes, "by vllm bench serve, data set random; every prompt is new"],
    )
    with VllmBench(target, tokenizer_of(target, options.tokenizer)) as bench:
        for length in fit:
            row = Row(f"{length:,}")
            if warmups:
                bench.run(warmups, _arguments(length, options, "warm-up"))
            with counting(target, repeats) as counted:
                found = bench.run(repeats, _arguments(length, options, "measured"))
            if counted.hits:
                raise InvalidRun(f"prefill: {counted.hits} tokens of random prompts were cached")
            rates = [
                {
                    "ttft": sample["ttft"],
                    "prompt_tokens": sample["prompt_tokens"],
                    "prefill": sample["prompt_tokens"] / sample["ttft"],
                }
                for sample in samples(found)
            ]
            row.samples += rates
            row.counted.add(counted)
            result.rows.append(row)
            say(f"prefill: {row.name} tokens: {row.summaries()['prefill'].median:.0f} tok/s")
    return result


def _arguments(length: int, options: Options, purpose: str) -> list[str]:
    seed = session_number(options.run, length, purpose) % 2**31
    return [
        *("--backend", "openai", "--endpoint", "/v1/completions"),
        *("--dataset-name", "random", "--random-input-len", str(length)),
        *("--random-output-len", "1", "--random-range-ratio", "0"),
        *("--max-concurrency", "1", "--seed", str(seed)),
    ]
