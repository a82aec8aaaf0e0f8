"""Runs requests of many shapes before the server is ready, so that no user waits for a compiler.

The first request of a shape compiles Triton kernels and fills workspaces: seconds each, and the
moment when too little memory shows. Here both happen before READY, and a failure ends the start.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from qwen3090.config.model import ServeConfig
from qwen3090.serve.probe import Answer, Probe

TIMEOUT = 900.0  # seconds for one request: its kernels may all be compiled first
SAMPLED = {"temperature": 1.0, "top_p": 0.95, "top_k": 20}
GREEDY = {"temperature": 0.0}


@dataclass(frozen=True)
class Wave:
    """Equal requests that run at the same time.

    Attributes:
        streams: how many.
        prompt: tokens of each prompt.
        output: tokens that each generates.
        sampled: at temperature 1 with top-k and top-p, else greedy.
    """

    streams: int
    prompt: int
    output: int
    sampled: bool


def waves(config: ServeConfig) -> Iterator[Wave]:
    """Yield what to run: each prefill path once, then decoding at every power of two of seats."""
    drafts = config.draft_tokens or 0
    output = 3 * (drafts + 1)
    room = config.context - output
    chunk = min(config.max_batched_tokens, room)
    for prompt in sorted({min(8, room), chunk, min(chunk + chunk // 2, room)}):
        yield Wave(1, prompt, output, False)
    streams = 1
    while True:
        for sampled in (False, True):
            if config.temperature is None or not sampled or config.temperature > 0:
                yield Wave(min(streams, config.seats), min(16, room), output, sampled)
        if streams >= config.seats:
            return
        streams *= 2


def body(wave: Wave, number: int) -> dict[str, Any]:
    """Return one request of a wave; ``number`` keeps its prompt out of the prefix cache.

    The ids stand for bytes or short words in every vocabulary of the architecture.
    """
    ids = [100 + (number * 7 + place * 13) % 100 for place in range(wave.prompt)]
    limits = {"max_tokens": wave.output, "min_tokens": wave.output, "ignore_eos": True}
    return {"prompt": ids, **limits, **(SAMPLED if wave.sampled else GREEDY)}


def warm_up(probe: Probe, config: ServeConfig) -> Answer:
    """Run every wave; stop at the first request that fails.

    Returns:
        How many requests ran, or what went wrong.
    """
    count = 0
    for wave in waves(config):
        bodies = [body(wave, count + number) for number in range(wave.streams)]
        with ThreadPoolExecutor(wave.streams) as pool:
            answers = list(pool.map(lambda each: probe.complete(each, TIMEOUT), bodies))
        count += wave.streams
        for answer in answers:
            if not answer.ok:
                plural = "s" if wave.streams > 1 else ""
                shape = f"{wave.streams} request{plural} of {wave.prompt} tokens"
                return Answer(False, f"{shape}: {answer.detail}")
    return Answer(True, f"{count} requests")
