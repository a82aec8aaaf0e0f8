"""Resident requests: counted with vLLM's bounds, its null block and the seats in mind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090.config import resolve
from qwen3090.plan import PlanInput, compute
from qwen3090.plan.need import blocks_decoding, blocks_needed, blocks_prefilling
from qwen3090.serve.plan_gate import plan_input


def test_fast_profile() -> None:
    seats = compute(PlanInput()).seats_by_context
    assert seats == {1024: 5, 2048: 5, 4096: 4, 8192: 3, 16384: 2, 32768: 1, 65536: 1}


def test_batch_profile_keeps_its_short_requests() -> None:
    inputs = PlanInput(
        speculation="none",
        kv_format="fp8",
        context=150_000,
        seats=64,
        kv_bytes=285 * 16 * 1_638_400,
        prefix_cache=False,
    )
    # 284 blocks beside the null block; 640 tokens take 1 attention and 3 state blocks.
    assert compute(inputs, contexts=(640, 1024)).seats_by_context == {640: 64, 1024: 56}


def test_the_batch_profiles_keep_every_seat_at_the_length_they_say() -> None:
    for profile, length in (("batch", 798), ("batch-262k", 640)):
        inputs = plan_input(resolve(profile, environ={}).config)
        assert compute(inputs, contexts=(length,)).seats_by_context == {length: inputs.seats}


def test_one_block_is_the_null_block() -> None:
    need = compute(PlanInput()).blocks_needed
    block = compute(PlanInput()).block_bytes
    exact = compute(PlanInput(kv_bytes=need * block))
    assert exact.fits
    assert exact.seats_by_context[65536] == 0
    assert [p.key for p in exact.problems] == ["context"]
    assert "null block" in exact.problems[0].why
    # 6 state groups keep a third state block while a step is in flight.
    assert "369 blocks" in exact.problems[0].why
    more = compute(PlanInput(kv_bytes=(need + 7) * block))
    assert more.seats_by_context[65536] == 1
    assert more.problems == ()


@given(
    length=st.integers(1, 65536),
    seats=st.integers(1, 64),
    k=st.integers(1, 15),
    cache=st.booleans(),
    pool=st.integers(2_000_000_000, 20_000_000_000),
)
def test_what_is_called_resident_fits_and_one_more_does_not(
    length: int, seats: int, k: int, cache: bool, pool: int
) -> None:
    inputs = PlanInput(seats=seats, draft_tokens=k, prefix_cache=cache, kv_bytes=pool)
    plan = compute(inputs, contexts=(length,))
    count = plan.seats_by_context[length]
    others = blocks_decoding(plan.groups, length, inputs)
    first = blocks_prefilling(plan.groups, length, inputs)

    def taken(requests: int) -> int:
        return first + (requests - 1) * others + 1

    assert 0 <= count <= seats
    if count:
        assert taken(count) <= plan.blocks_available
    if count < seats:
        assert taken(count + 1) > plan.blocks_available


@pytest.mark.parametrize("pool", [1, 10_000_000, 3_000_000_000, 5_200_000_000])
def test_the_longest_context_fits_and_one_token_more_does_not(pool: int) -> None:
    inputs = PlanInput(context=262_144, kv_bytes=pool)
    plan = compute(inputs)
    longest = plan.max_context
    assert not plan.fits
    if longest:
        assert blocks_needed(plan.groups, longest, inputs) <= plan.blocks_available
    assert blocks_needed(plan.groups, longest + 1, inputs) > plan.blocks_available
