"""Runs requests of many shapes before the server is ready, so that no user waits for a compiler.

The first request of a shape compiles Triton kernels and fills workspaces: seconds each, and the
moment when too little memory shows. Here both happen before READY, and a failure ends the start.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from qwen3090.config.derive import decode_lengths
from qwen3090.config.model import ServeConfig
from qwen3090.plan.graphs import capture_sizes
from qwen3090.serve.probe import CHAT, COMPLETIONS, Answer, Probe

TIMEOUT = 900.0  # seconds for one request: its kernels may all be compiled first
SAMPLED = {"temperature": 1.0, "top_p": 0.95, "top_k": 20}
GREEDY = {"temperature": 0.0}
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
}
TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA},
}


@dataclass(frozen=True)
class Wave:
    """Equal requests that run at the same time.

    Attributes:
        kind: what they are for, as the log says it.
        streams: how many.
        prompt: tokens of each prompt.
        output: tokens that each generates.
        sampled: at temperature 1 with top-k and top-p, else greedy.
        again: send the prompt of the wave before once more (a hit in the prefix cache).
    """

    kind: str
    streams: int
    prompt: int
    output: int
    sampled: bool = False
    again: bool = False


def batches(config: ServeConfig) -> list[int]:
    """Return the numbers of requests to decode at once.

    Each number whose step has a CUDA graph of its own size, and every power of two of seats:
    kernels outside the graphs are compiled for other numbers than graphs are captured for.
    """
    seats, lengths = config.seats, decode_lengths(config)
    sizes = config.graph_sizes or ()
    if isinstance(sizes, int):
        sizes = capture_sizes(sizes, lengths)
    graphs = {size // step for size in sizes for step in set(lengths)}
    powers = {2**n for n in range(seats.bit_length())}
    return sorted(n for n in graphs | powers | {seats} if 1 <= n <= seats)


def waves(config: ServeConfig) -> Iterator[Wave]:
    """Yield what to run: each prefill path once, a prefix hit, then decoding at every batch."""
    output = 3 * ((config.draft_tokens or 0) + 1)
    room = config.context - output
    chunk = min(config.max_batched_tokens, room)
    for prompt in sorted({min(8, room), chunk, min(chunk + chunk // 2, room)}):
        yield Wave("prefill", 1, prompt, output)
    if config.prefix_cache:
        yield Wave("prefix hit", 1, min(chunk + chunk // 2, room), output, again=True)
    for streams in batches(config):
        yield Wave("decoding", streams, min(16, room), output)
        if config.temperature is None or config.temperature > 0:
            yield Wave("sampling", streams, min(16, room), output, sampled=True)


def body(wave: Wave, number: int) -> dict[str, Any]:
    """Return one request of a wave; ``number`` keeps its prompt out of the prefix cache.

    The ids stand for bytes or short words in every vocabulary of the architecture.
    """
    ids = [100 + (number * 7 + place * 13) % 100 for place in range(wave.prompt)]
    limits = {"max_tokens": wave.output, "min_tokens": wave.output, "ignore_eos": True}
    return {"prompt": ids, **limits, **(SAMPLED if wave.sampled else GREEDY)}


def single(config: ServeConfig) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind, path and body of requests that take a way of their own through the server."""
    limits = {"max_tokens": 3 * ((config.draft_tokens or 0) + 1), **GREEDY}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    yield "structured output", COMPLETIONS, {"prompt": "1", "response_format": form, **limits}
    if config.tools:
        messages = [{"role": "user", "content": "Look."}]
        yield "tools", CHAT, {"messages": messages, "tools": [TOOL], **limits}


def warm_up(probe: Probe, config: ServeConfig) -> Answer:
    """Run everything; stop at the first request that fails.

    Returns:
        How many requests ran and how long each kind took, or what went wrong.
    """
    count = 0
    seconds: dict[str, float] = {}
    for wave in waves(config):
        first = count - 1 if wave.again else count
        bodies = [body(wave, first + number) for number in range(wave.streams)]
        start = time.monotonic()
        with ThreadPoolExecutor(wave.streams) as pool:
            answers = list(pool.map(lambda each: probe.complete(each, TIMEOUT), bodies))
        seconds[wave.kind] = seconds.get(wave.kind, 0.0) + time.monotonic() - start
        count += wave.streams
        for answer in answers:
            if not answer.ok:
                plural = "s" if wave.streams > 1 else ""
                shape = f"{wave.streams} request{plural} of {wave.prompt} tokens"
                return Answer(False, f"{wave.kind}, {shape}: {answer.detail}")
    for kind, path, request in single(config):
        start = time.monotonic()
        answer = probe.complete(request, TIMEOUT, path)
        seconds[kind] = time.monotonic() - start
        count += 1
        if not answer.ok:
            return Answer(False, f"{kind}: {answer.detail}")
    parts = ", ".join(f"{kind} {taken:.1f} s" for kind, taken in seconds.items())
    return Answer(True, f"{count} requests ({parts})")
