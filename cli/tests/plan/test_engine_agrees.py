"""Compares the plan with vLLM's own functions: a stated list of combinations, then random ones."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qwen3090.plan import Drafter, Geometry, Plan, PlanInput, compute
from qwen3090.plan.specs import ATTENTION, RECURRENT, WINDOW

from .engine_process import Ask, Asks

pytestmark = pytest.mark.engine
SPEC_NAMES = {
    ATTENTION: "FullAttentionSpec",
    RECURRENT: "MambaSpec",
    WINDOW: "SlidingWindowSpec",
}

# (speculation, draft tokens, kv_format, drafter_kv_format, prefix cache, async, context)
STATED = [
    *itertools.product(
        ["dflash2"],
        [1, 3, 7, 15, 31],
        ["bf16", "fp8", "int8", "int4"],
        ["bf16", "fp8", "int8", "int4"],
        [False, True],
        [True],
        [65536],
    ),
    *itertools.product(
        ["mtp"],
        [1, 3, 4, 5],
        ["bf16", "fp8", "int8", "int4"],
        [None],
        [False, True],
        [True],
        [150_000],
    ),
    *itertools.product(
        ["mtp"], [4], ["bf16", "fp8", "int8", "int4"], ["bf16", "int8"], [True], [True], [32_768]
    ),
    *itertools.product(
        ["none"],
        [0],
        ["bf16", "fp8", "int8", "int4"],
        [None],
        [False, True],
        [True],
        [65536, 262_144],
    ),
    *itertools.product(
        ["dflash2"],
        [7, 15],
        ["bf16", "int8"],
        [None],
        [False, True],
        [False, True],
        [512, 40_960, 57_344],
    ),
]


def _ours(plan: Plan, engine: dict[str, Any]) -> dict[str, Any]:
    """Return the plan in the form of the probe's answer."""
    if "error" in engine:
        refused = any("cannot be padded" in p.why for p in plan.problems)
        return {
            "state_bytes": plan.state_bytes,
            "fits": plan.fits,
            "error": engine["error"] if refused else None,
        }
    # The probe reports the target's block as aligned, before pages are made equal.
    return {
        "state_bytes": plan.state_bytes,
        "fits": plan.fits,
        "pool_tokens": plan.pool_tokens,
        "blocks_available": plan.blocks_available,
        "blocks_needed": plan.blocks_needed,
        "max_context": plan.max_context,
        "page_bytes": plan.page_bytes,
        "target_block": engine["target_block"],
        "scheduler_block": plan.scheduler_block,
        "hash_block": plan.hash_block,
        # A pool without a block has no coordinator to ask.
        "hit_block": plan.hit_block if plan.blocks_available else engine["hit_block"],
        "groups": [[SPEC_NAMES[g.spec.kind], g.layers, g.spec.block] for g in plan.groups],
    }


def _agree(ask: Ask, inputs: PlanInput, geometry: Geometry) -> None:
    engine = ask(inputs, geometry)
    assert _ours(compute(inputs, geometry), engine) == engine, (inputs, geometry)


def test_the_stated_list_has_more_than_two_hundred_combinations() -> None:
    assert len(set(STATED)) == len(STATED) > 200


@pytest.mark.parametrize("grouping", ["hybrid", "stock"])
def test_stated_combinations_agree(asks: Asks, grouping: str) -> None:
    for speculation, k, fmt, drafter, cache, overlap, context in STATED:
        inputs = PlanInput(
            context=context,
            kv_format=fmt,
            drafter_kv_format=drafter,
            prefix_cache=cache,
            async_scheduling=overlap,
            speculation=speculation,
            draft_tokens=k,
            kv_groups=grouping,
        )
        _agree(asks[grouping], inputs, Geometry.builtin())


_formats = st.sampled_from(["bf16", "fp8", "int8", "int4"])
_inputs = st.builds(
    PlanInput,
    context=st.one_of(st.integers(1, 5000), st.integers(1, 262_144)),
    kv_format=_formats,
    drafter_kv_format=st.one_of(st.none(), _formats),
    kv_bytes=st.integers(100_000_000, 20_000_000_000),
    prefix_cache=st.booleans(),
    async_scheduling=st.booleans(),
    speculation=st.sampled_from(["dflash2", "dflash2", "mtp", "none"]),
    draft_tokens=st.integers(1, 31),
    state_dtype=st.sampled_from(["fp16", "bf16", "fp32"]),
    max_batched_tokens=st.integers(16, 16_384),
    kv_groups=st.sampled_from(["hybrid", "stock"]),
)
_drafters = st.builds(
    Drafter,
    windows=st.lists(st.sampled_from([2048, 2048, 2048, 512, None]), min_size=1, max_size=9).map(
        tuple
    ),
    kv_heads=st.sampled_from([1, 2, 4, 8]),
    head_dim=st.sampled_from([32, 64, 128, 256]),
    block_size=st.just(8),
)
_geometries = st.builds(
    Geometry,
    attention_layers=st.integers(1, 24),
    recurrent_layers=st.integers(1, 64),
    kv_heads=st.sampled_from([1, 2, 4, 8]),
    head_dim=st.sampled_from([32, 64, 128, 256]),
    key_heads=st.sampled_from([2, 4, 16]),
    value_heads=st.sampled_from([4, 16, 48]),
    key_dim=st.sampled_from([32, 128]),
    value_dim=st.sampled_from([32, 128]),
    conv_kernel=st.just(4),
    mtp_layers=st.just(1),
    drafter=_drafters,
    model_bytes=st.sampled_from([2, 4]),
)
_random = settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@_random
@given(inputs=_inputs)
def test_random_settings_of_the_real_model_agree(asks: Asks, inputs: PlanInput) -> None:
    _agree(asks[inputs.kv_groups], inputs, Geometry.builtin())


@_random
@given(inputs=_inputs, geometry=_geometries)
def test_random_settings_of_random_models_agree(
    asks: Asks, inputs: PlanInput, geometry: Geometry
) -> None:
    _agree(asks[inputs.kv_groups], inputs, geometry)


@_random
@given(
    geometry=_geometries,
    prefix_cache=st.booleans(),
    speculation=st.sampled_from(["dflash2", "mtp", "none"]),
    k=st.integers(1, 8),
    grouping=st.sampled_from(["hybrid", "stock"]),
)
def test_random_models_on_the_cpu_agree(
    asks: Asks,
    geometry: Geometry,
    prefix_cache: bool,
    speculation: str,
    k: int,
    grouping: str,
) -> None:
    inputs = PlanInput(
        context=2048,
        kv_bytes=268_435_456,
        prefix_cache=prefix_cache,
        async_scheduling=False,
        speculation=speculation,
        draft_tokens=k,
        kv_groups=grouping,
        device="cpu",
    )
    _agree(asks[grouping], inputs, geometry)
