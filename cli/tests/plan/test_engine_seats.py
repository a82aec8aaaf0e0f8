"""The resident seats that the plan prints are held: vLLM's own manager is filled with them."""

from dataclasses import replace
from typing import Any

import pytest
from qwen3090.plan import Geometry, PlanInput, compute

from .engine_process import Asks

pytestmark = pytest.mark.engine
_MTP = {"speculation": "mtp", "draft_tokens": 4}
_BATCH: dict[str, Any] = {
    "speculation": "none",
    "kv_format": "fp8",
    "context": 150_000,
    "seats": 64,
    "kv_bytes": 7_247_757_312,
}


@pytest.mark.parametrize("prefix_cache", [False, True])
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"draft_tokens": 15, "context": 57_344},
        {"kv_format": "int8", "context": 131_072, "seats": 4},
        _MTP,
        {"speculation": "none"},
        _BATCH,
    ],
)
def test_seats_are_held(
    asks: Asks, changes: dict[str, Any], overlap: bool, prefix_cache: bool
) -> None:
    inputs = replace(PlanInput(), **changes, async_scheduling=overlap, prefix_cache=prefix_cache)
    lengths = tuple(n for n in (1000, 4096, 8192, 30_000, inputs.context) if n <= inputs.context)
    plan = compute(inputs, contexts=lengths)
    for length, seats in plan.seats_by_context.items():
        extra = {"resident": seats + 3, "length": length, "lookahead": inputs.lookahead_tokens}
        held = asks["hybrid"](inputs, Geometry.builtin(), extra)["resident"]
        assert seats >= 1 or not plan.fits
        assert held >= seats, (changes, length, held, seats)
        if seats < inputs.seats:
            # Close to what really fits: the plan counts a block boundary for every request.
            assert held <= seats * 1.1 + 2, (changes, length, held, seats)


@pytest.mark.parametrize("name", ["stock", "hybrid"])
def test_the_state_blocks_of_a_long_prompt_are_freed(asks: Asks, name: str) -> None:
    """Without patch 0202 a prompt of the full context does not get its slots at once."""
    inputs = replace(PlanInput(), speculation="none", kv_groups=name)
    extra = {"resident": 1, "length": inputs.context, "lookahead": 0}
    held = asks[name](inputs, Geometry.builtin(), extra)["resident"]
    assert held == (1 if name == "hybrid" else 0)
