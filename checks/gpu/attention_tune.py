"""Tries other launches of the attention kernels, for attention.py --tune: compiled side by side."""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

import torch
import triton
from attention_case import HEADS, KV_HEADS, Case
from qwen3090_ops.attention import quantized, split
from qwen3090_ops.attention.split import Shape

LENGTHS = {8: (16_000, 131_072), 5: (65_536,), 1: (65_536,), 21: (16_000,)}
"""Cached tokens of the batches to time, by new tokens: kernels are compiled for those."""
TILES, WARPS, STAGES = (16, 32, 64, 128), (4, 8), (1, 2)
BEST = 6


def micros(run: Callable[[], None]) -> float:
    """Return the time of one call in microseconds, the median over replays of a captured graph."""
    return 1e3 * float(triton.testing.do_bench_cudagraph(run, rep=30))


def launches(case: Case) -> list[Shape]:
    """Return the launches to try, the default one first."""
    group = HEADS // KV_HEADS
    if case.format is None:
        first = split.shape_of(case.tokens, group)
    else:
        first = quantized.shape_of(case.tokens, group, case.format)
    rows = sorted({first.rows, *((64, 128) if case.tokens * group > 64 else ())})
    others = [
        replace(first, rows=row, tile=tile, warps=warps, stages=stages)
        for row, tile, warps, stages in itertools.product(rows, TILES, WARPS, STAGES)
    ]
    return list(dict.fromkeys([first, *others]))


def compiled(case: Case, shapes: list[Shape], until: float) -> list[Shape]:
    """Return those of ``shapes`` that compile and fit, compiled by threads; stops at ``until``."""
    good, said = [], time.monotonic()
    pool = ThreadPoolExecutor(12)
    waiting = {pool.submit(case.ours, shape): shape for shape in shapes}
    try:
        for done, future in enumerate(as_completed(waiting, until - time.monotonic()), 1):
            if future.exception() is None:
                good.append(waiting[future])
            if time.monotonic() - said > 1:
                said = time.monotonic()
                print(f"TUNE {case.name}: {done} of {len(shapes)} compiled", flush=True)
    except TimeoutError:
        print(f"TUNE {case.name}: {len(good)} of {len(shapes)} compiled, out of time", flush=True)
    pool.shutdown(wait=True, cancel_futures=True)
    torch.cuda.synchronize()
    return [shape for shape in shapes if shape in good]


def timed(case: Case, shapes: list[Shape], until: float) -> None:
    """Print the fastest of ``shapes``, the default among them, and what the default takes."""
    head = f"TUNE {case.name} {case.length} x {case.tokens}:"
    times, said = [], time.monotonic()
    for shape in shapes:
        if times and time.monotonic() > until:
            print(f"{head} out of time after {len(times)} of {len(shapes)}", flush=True)
            break
        times.append((micros(lambda given=shape: case.ours(given)), shape))
        if time.monotonic() - said > 1:
            said = time.monotonic()
            print(f"{head} {len(times)} of {len(shapes)} timed", flush=True)
    for micro, shape in sorted(times, key=lambda item: item[0])[:BEST]:
        print(f"{head} {micro:8.1f} us {shape}", flush=True)
    if times:
        print(f"{head} {times[0][0]:8.1f} us, first tried {times[0][1]}", flush=True)


def tune(name: str, page: int | None, seconds: float) -> None:
    """Print the fastest launches of each size in about ``seconds``, most of them for compiling."""
    end = time.monotonic() + seconds
    for left, (tokens, lengths) in zip(range(len(LENGTHS), 0, -1), LENGTHS.items(), strict=True):
        begin = time.monotonic()
        share = max((end - begin) / left, 1)
        cases = [Case(name, length, tokens, 1, page) for length in lengths]
        shapes = compiled(cases[0], launches(cases[0]), begin + 0.7 * share)
        for case in cases:
            timed(case, shapes, begin + share)
