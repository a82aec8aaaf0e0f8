"""Tries other launches of the attention kernels, for attention.py --tune: compiled side by side."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

import torch
import triton
from attention_case import HEADS, KV_HEADS, Case
from qwen3090_ops.attention import quantized, split
from qwen3090_ops.attention.split import Shape

SIZES = [(16_000, 8), (131_072, 8), (65_536, 1), (65_536, 5), (16_000, 21)]
TILES, WARPS, STAGES = (16, 32, 64, 128), (2, 4, 8), (1, 2, 3)
AHEAD, LAZY = (0, 1, 2), (False, True)
BEST = 6


def micros(run: object) -> float:
    """Return the time of one call in microseconds, the median over replays of a captured graph."""
    return 1e3 * float(triton.testing.do_bench_cudagraph(run, rep=30))


def launches(case: Case) -> list[Shape]:
    """Return the launches to try, the default one first."""
    group = HEADS // KV_HEADS
    if case.format is None:
        first = split.shape_of(case.tokens, group)
    else:
        first = quantized.shape_of(case.tokens, group, case.format)
    rows = {first.rows, min(first.rows, 64)}
    others = [
        replace(first, rows=row, tile=tile, warps=warps, stages=stages)
        for row, tile, warps, stages in itertools.product(rows, TILES, WARPS, STAGES)
    ]
    if case.format is not None:
        others += [
            replace(first, rows=min(first.rows, 64), tile=tile, stages=1, ahead=ahead, lazy=lazy)
            for tile, ahead, lazy in itertools.product((16, 32, 64), AHEAD, LAZY)
        ]
    return [first, *(shape for shape in others if shape != first)]


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


def tune(name: str, page: int | None, seconds: float) -> None:
    """Print the fastest launches of each size; half of ``seconds`` may go into compiling."""
    begin = time.monotonic()
    ready: dict[int, list[Shape]] = {}
    for length, tokens in SIZES:
        case = Case(name, length, tokens, 1, page)
        if tokens not in ready:
            spent = time.monotonic() - begin
            until = time.monotonic() + max(seconds * (0.4 if not ready else 0.7) - spent, 1)
            ready[tokens] = compiled(case, launches(case), until)
        times, said = [], time.monotonic()
        for shape in ready[tokens]:
            if time.monotonic() - begin > seconds:
                print(f"TUNE {name}: out of time", flush=True)
                break
            times.append((micros(lambda s=shape, c=case: c.ours(s)), shape))
            if time.monotonic() - said > 1:
                said = time.monotonic()
                print(f"TUNE {name} {length} x {tokens}: {len(times)} timed", flush=True)
        default = times[0] if times else None
        for micro, shape in sorted(times, key=lambda item: item[0])[:BEST]:
            print(f"TUNE {name} {length} x {tokens}: {micro:8.1f} us {shape}", flush=True)
        if default:
            print(f"TUNE {name} {length} x {tokens}: {default[0]:8.1f} us by default", flush=True)
