"""Times and checks the split attention of a verify step against FlashAttention-2 on a GPU.

usage: attention.py [--format bf16|int8|int4|all] [--tune] [--page TOKENS]

Errors are ‖out − ref‖ / ‖ref‖, ref from torch in fp64 over what the cache holds. FlashAttention-2
reads a bf16 cache of the same sizes. Ratios are of times of one run, each a median over captured
graphs. --tune tries other launches of each format, at most 90 s. Exit status 1: an error above 1 %
or a replay that is wrong.
"""

import argparse
import sys
from dataclasses import dataclass

import torch
from attention_case import KV_HEADS, PAGES, Case
from attention_tune import micros, tune
from qwen3090_ops.attention.backend import multiprocessors
from qwen3090_ops.attention.scratch import segments

SIZES = [
    *((512, tokens, 1) for tokens in (1, 5, 8)),
    *((512, 8, 8), (1_500, 8, 1), (4_096, 8, 8)),
    *((16_000, tokens, 1) for tokens in (1, 2, 5, 8, 16, 21)),
    *((16_000, 8, 4), (65_536, 5, 1), (65_536, 8, 1), (131_072, 1, 1), (131_072, 8, 1)),
]
"""Cached tokens, the new ones among them, and requests of each measured batch."""
TUNING_SECONDS = 90
LIMIT = 0.01


@dataclass(frozen=True)
class Plain:
    """What a bf16 cache of one size takes: microseconds of FlashAttention-2 and of ours."""

    flash: float
    ours: float
    error: float
    """Of FlashAttention-2."""


def replay_is_right(name: str, page: int | None) -> bool:
    """Capture at full length, then replay with other lengths and another order of blocks."""
    case = Case(name, 6_000, 8, 4, page)
    case.ours()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        case.ours()
    case.lengths.copy_(torch.tensor([8, case.page + 1, 5_999, 1_000], dtype=torch.int32))
    case.table.copy_(case.table.flip(0, 1))
    larger = Case(name, 12_000, 8, 4, page)
    larger.ours()  # an eager batch in between
    case.out.fill_(float("nan"))
    graph.replay()
    error = case.error(case.expected())
    print(f"REPLAY {name} with other lengths and blocks: error {error:.2e}", flush=True)
    return error < LIMIT


def plain(size: tuple[int, int, int], page: int | None) -> Plain:
    case = Case("bf16", *size, page)
    case.flash()
    return Plain(micros(case.flash), micros(case.ours), case.error(case.expected()))


def measure(name: str, page: int | None, bases: dict[tuple[int, int, int], Plain]) -> bool:
    """Print a line a size; return whether all answers are right."""
    good = True
    print("format | cached x new x requests | FA2 us | our bf16 us | ours us | to FA2 | to bf16 |")
    print("  segments | errors: FA2, ours")
    for size in SIZES:
        case = Case(name, *size, page)
        case.ours()
        error = case.error(case.expected())
        good = good and error < LIMIT
        if size not in bases:
            bases[size] = plain(size, page if name == "bf16" else None)
        base = bases[size]
        ours = base.ours if name == "bf16" else micros(case.ours)
        print(
            f"{name} | {size[0]:7} x {size[1]:2} x {size[2]} | {base.flash:8.1f} | "
            f"{base.ours:7.1f} | {ours:7.1f} | {ours / base.flash:.3f} | {ours / base.ours:.3f} | "
            f"{segments(size[2], KV_HEADS, multiprocessors()):2} | {base.error:.1e} {error:.1e}",
            flush=True,
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=[*PAGES, "all"], default="all")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--page", type=int, help="tokens of a block instead of the profiles'")
    given = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, {multiprocessors()} multiprocessors", flush=True)
    names = list(PAGES) if given.format == "all" else [given.format]
    bases: dict[tuple[int, int, int], Plain] = {}
    good = True
    for name in names:
        good = replay_is_right(name, given.page) and good
        good = measure(name, given.page, bases) and good
        if given.tune:
            tune(name, given.page, TUNING_SECONDS)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
