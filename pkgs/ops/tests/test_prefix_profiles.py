"""Prefix hits with the block sizes of each profile: right at the lengths where they went wrong.

The small layouts of test_prefix_blocks.py go through every residue; here the sizes are those that
the plan computes, with the profile's drafts, steps and scheduling.
"""

import random
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

pytest.importorskip("vllm")
pytest.importorskip("qwen3090")
from blocks.layout import Layout
from blocks.serve import Served
from qwen3090.config import resolve
from qwen3090.config.profiles import profile_names
from qwen3090.plan.model import compute
from qwen3090.serve.plan_gate import plan_input

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@cache
def layouts() -> dict[str, Layout]:
    """Return the layout of each profile that caches prefixes."""
    found = {}
    for name in profile_names():
        plan = compute(plan_input(resolve(name, environ={}).config))
        i = plan.inputs
        if i.prefix_cache:
            found[name] = Layout(
                state=plan.block_size,
                attention=plan.block_size,
                window=plan.window_block or 0,
                reach=2048,
                drafts=i.k,
                budget=i.max_batched_tokens,
                overlap=i.async_scheduling,
                blocks=4000,
            )
    return found


def step(layout: Layout) -> int:
    """Return the tokens of a prefill step alone in its batch: whole state blocks."""
    return (layout.budget - layout.drafts) // layout.state * layout.state


def text(length: int, seed: float) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(100) for _ in range(length)]


class Asked(NamedTuple):
    """Tokens that a request shared with what was served, and how many of them were hit."""

    shared: int
    hit: int


def residues(layout: Layout) -> list[int]:
    """Return what is left of a prompt after whole state blocks, where hits turn."""
    turns = {0, layout.window or layout.state}
    around = (-1, 0, 1, layout.drafts, layout.drafts + 1)
    return sorted({(turn + offset) % layout.state for turn in turns for offset in around})


def serve(layout: Layout, lengths: list[int], folder: Path) -> tuple[Served, list[Asked]]:
    """Serve prompts of some lengths; ask each again, go on with its answer, and ask another
    question behind most of it."""
    served, found = Served(layout, folder), []
    for length in lengths:
        prompt, shared = text(length, length), length - layout.state
        (first,) = served.serve([prompt], 20)
        asked = [prompt, [*first.all_token_ids, *text(70, 1)], prompt[:shared] + text(90, 2)]
        parts = (length, length, shared)
        for part, request in zip(parts, served.serve(asked, 20), strict=True):
            found.append(Asked(part, served.hits[request.request_id]))
    served.states()
    return served, found


@pytest.mark.parametrize("name", layouts())
def test_a_prefix_is_hit_with_the_sizes_of_each_profile(name: str, tmp_path: Path) -> None:
    layout = layouts()[name]
    lengths = [4 * step(layout) + residue for residue in residues(layout)]
    served, found = serve(layout, lengths, tmp_path)
    unit = served.scheduler.hash_block_size
    prompts = {r.request_id: r.num_prompt_tokens for r in served.requests}
    for request, _, end in served.chunks:
        length = prompts[request]
        assert end % layout.state == 0 or end in (length, length // unit * unit)
    for shared, hit in found:
        # What the drafter saw of the last block is read anew; states are kept where steps ended.
        reachable = ((shared - 1) // layout.state - 1) * layout.state
        assert hit >= reachable // step(layout) * step(layout) > 0


@pytest.mark.parametrize("name", [name for name, each in layouts().items() if each.window])
def test_a_small_window_block_brings_longer_hits(name: str, tmp_path: Path) -> None:
    """Why the drafter's group counts among the hash units (docs/concepts/plan.md).

    Left out, a hit could end at state blocks alone, as with a window block as large as those.
    """
    layout = layouts()[name]
    lengths = [4 * step(layout) + residue for residue in residues(layout)]
    _, found = serve(layout, lengths, tmp_path)
    _, coarse = serve(replace(layout, window=layout.state), lengths, tmp_path)
    gained = [a.hit - b.hit for a, b in zip(found, coarse, strict=True)]
    assert min(gained) == 0
    assert max(gained) == (layout.state if layout.window < layout.state else 0)
