"""Every pool that was published or measured for this model comes out of the plan to the token."""

from typing import Any

import pytest
from qwen3090.plan import Plan, PlanInput, compute

PINNED = 5_583_457_484
_MTP_FAST = {"speculation": "mtp", "draft_tokens": 4}
_BATCH = {"speculation": "none", "kv_format": "fp8", "context": 150_000, "seats": 64}
_LONG = {"kv_format": "int8", "context": 131_072, "seats": 4}
_HUGE = {"kv_format": "int4", "context": 262_144, "prefix_cache": True}
_K15 = {"draft_tokens": 15, "async_scheduling": False}


def plan(**changes: Any) -> Plan:
    return compute(PlanInput(**{"kv_bytes": PINNED, "prefix_cache": False, **changes}))


# settings -> pool tokens, blocks needed, blocks available, block, page, state
POOLS: dict[str, tuple[Any, ...]] = {
    "fast": ({}, 69_758, 357, 380, 448, 1_835_008, 1_777_664),
    "fast, prefix cache": ({"prefix_cache": True}, 68_605, 363, 380, 448, 1_835_008, 1_777_664),
    "long": (_LONG, 138_696, 361, 382, 864, 1_824_768, 1_777_664),
    "long, prefix cache": (
        {**_LONG, "prefix_cache": True}, 136_429, 367, 382, 864, 1_824_768, 1_777_664,
    ),
    "KVarN, prefix cache": (
        {
            "kv_format": "kvarn_k4v2", "context": 245_760, "seats": 2, "prefix_cache": True,
            "kv_bytes": 5_261_334_938,
        },
        268_169, 329, 359, 2176, 1_827_840, 1_777_664,
    ),
    "stock groups": (
        {"kv_groups": "stock", "context": 40_960}, 53_787, 463, 608, 448, 1_835_008, 1_777_664,
    ),
    "k=15, prefix cache": (
        {**_K15, "context": 57_344, "seats": 4, "prefix_cache": True},
        57_669, 352, 354, 480, 1_966_080, 1_941_504,
    ),
    "int4, int8 drafter": (
        {**_HUGE, "drafter_kv_format": "int8"}, 273_388, 373, 389, 1696, 1_790_976, 1_777_664,
    ),
    "int4, bf16 drafter": (
        {**_HUGE, "drafter_kv_format": "bf16"}, 262_835, 379, 380, 1696, 1_835_008, 1_777_664,
    ),
    "int4, int8 drafter, k=15": (
        {**_HUGE, **_K15, "drafter_kv_format": "int8", "context": 229_376},
        228_094, 358, 356, 1840, 1_959_936, 1_941_504,
    ),
    "MTP by 221 blocks": (
        {**_MTP_FAST, "kv_bytes": 221 * 17 * 1_769_472},
        86_727, 167, 221, 432, 1_769_472, 1_716_224,
    ),
    "MTP by 188 blocks, prefix cache": (
        {**_MTP_FAST, "kv_bytes": 188 * 17 * 1_769_472, "prefix_cache": True},
        72_475, 170, 188, 432, 1_769_472, 1_716_224,
    ),
    "MTP by 220 blocks, prefix cache": (
        {**_MTP_FAST, "kv_bytes": 220 * 17 * 1_769_472, "prefix_cache": True},
        84_811, 170, 220, 432, 1_769_472, 1_716_224,
    ),
    "MTP long by 264 blocks, prefix cache": (
        {
            "speculation": "mtp", "draft_tokens": 3, "kv_format": "fp8", "context": 150_000,
            "kv_bytes": 264 * 17 * 1_703_936, "prefix_cache": True,
        },
        202_040, 196, 264, 832, 1_703_936, 1_695_744,
    ),
    "batch by 285 blocks": (
        {**_BATCH, "kv_bytes": 285 * 16 * 1_638_400}, 223_821, 191, 285, 800, 1_638_400, 1_634_304,
    ),
    "batch by 250 blocks, prefix cache": (
        {**_BATCH, "kv_bytes": 250 * 16 * 1_638_400, "prefix_cache": True},
        193_298, 194, 250, 800, 1_638_400, 1_634_304,
    ),
    # Measured with stock vLLM 0.28.0 on another card; no window layers, so the series is inert.
    "measured: plain": (
        {"speculation": "none"}, 83_195, 167, 212, 400, 1_638_400, 1_634_304,
    ),
    "measured: plain, prefix cache": (
        {"speculation": "none", "prefix_cache": True}, 81_727, 170, 212, 400, 1_638_400, 1_634_304,
    ),
    "measured: MTP": (_MTP_FAST, 72_599, 167, 185, 432, 1_769_472, 1_716_224),
    "measured: MTP, prefix cache": (
        {**_MTP_FAST, "prefix_cache": True}, 71_318, 170, 185, 432, 1_769_472, 1_716_224,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POOLS)
def test_pool(name: str) -> None:
    settings, *expected = POOLS[name]
    found = plan(**settings)
    assert [
        found.pool_tokens,
        found.blocks_needed,
        found.blocks_available,
        found.block_size,
        found.page_bytes,
        found.state_bytes,
    ] == expected
    assert found.fits == (found.blocks_needed <= found.blocks_available)


@pytest.mark.parametrize("name", [name for name in POOLS if name.startswith("measured")])
def test_without_window_layers_the_series_changes_nothing(name: str) -> None:
    settings = POOLS[name][0]
    stock = plan(**settings, kv_groups="stock")
    assert stock.pool_tokens == plan(**settings).pool_tokens
    assert stock.groups == plan(**settings).groups


@pytest.mark.parametrize(
    ("k", "state"),
    [(0, 1_634_304), (3, 1_695_744), (4, 1_716_224), (7, 1_777_664), (15, 1_941_504)],
)
def test_state_bytes(k: int, state: int) -> None:
    speculation = "dflash2" if k else "none"
    assert plan(speculation=speculation, draft_tokens=k).state_bytes == state
    wide = plan(speculation=speculation, draft_tokens=k, state_dtype="fp32").state_bytes
    assert wide == state + 1_572_864


def test_groups_of_the_model_with_its_drafter() -> None:
    found = [(g.spec.kind, g.layers, g.padding) for g in plan().groups]
    assert found == [("recurrent", 8, 0)] * 6 + [("attention", 8, 0)] * 2 + [("window", 5, 3)]
    stock = plan(kv_groups="stock").groups
    assert len(stock) == 15
    assert sum(g.layers + g.padding for g in stock if g.spec.kind == "attention") == 20


@pytest.mark.parametrize(
    ("fmt", "k", "block"),
    [("bf16", 7, 448), ("bf16", 15, 480), ("int8", 7, 864), ("int8", 15, 944)],
)
def test_equal_formats_get_equal_blocks_in_every_group(fmt: str, k: int, block: int) -> None:
    found = plan(kv_format=fmt, draft_tokens=k, prefix_cache=True)
    assert {g.spec.block for g in found.groups} == {block}
    assert (found.scheduler_block, found.hash_block, found.hit_block) == (block, block, block)


def test_without_promotion_an_int8_drafter_takes_most_of_the_pool() -> None:
    stock = plan(kv_format="int8", context=32_768, kv_groups="stock")
    window = [g for g in stock.groups if g.spec.kind == "window"]
    assert [g.spec.block for g in window] == [16]
    assert stock.blocks_needed - plan(kv_format="int8", context=32_768).blocks_needed > 376
