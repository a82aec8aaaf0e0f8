"""Each combination that cannot run is named with its setting, a file of the engine, and a cure."""

from dataclasses import replace
from typing import Any

import pytest
from qwen3090.config import resolve
from qwen3090.plan import Drafter, Geometry, PlanInput, compute
from qwen3090.serve.plan_gate import plan_input


def problems(**changes: Any) -> list[tuple[str, str, str]]:
    return [
        (p.key, p.why, p.instead)
        for p in compute(PlanInput(**{"prefix_cache": False, **changes})).problems
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prefix_cache": True},
        {"kv_format": "int8", "context": 131_072, "prefix_cache": True},
        {"kv_format": "int4", "drafter_kv_format": "bf16"},
        {"kv_format": "int4", "drafter_kv_format": "bf16", "prefix_cache": True},
        {"kv_format": "int4", "drafter_kv_format": "int8", "prefix_cache": True},
        {"kv_format": "int8", "drafter_kv_format": "int4"},
        {"drafter_kv_format": "int8"},
        {"kv_format": "fp8"},
        {"speculation": "mtp", "draft_tokens": 4, "prefix_cache": True},
        {"speculation": "mtp", "draft_tokens": 3, "kv_format": "fp8", "prefix_cache": True},
        {"speculation": "mtp", "draft_tokens": 4, "kv_format": "int8", "prefix_cache": True},
        {"speculation": "mtp", "draft_tokens": 4, "kv_format": "int4", "prefix_cache": True},
        {"speculation": "none", "prefix_cache": True},
    ],
)
def test_what_runs_has_no_problem(changes: dict[str, Any]) -> None:
    assert problems(**changes) == []


@pytest.mark.parametrize(
    ("changes", "key", "why", "instead"),
    [
        ({"kv_format": "kvarn_k4v2"}, "kv_format", "no KVarN cache", "int4"),
        (
            {"kv_format": "fp8", "attention_backend": "FLASH_ATTN"},
            "kv_format", "flash_attn.py:234", "FLASHINFER",
        ),
        (
            {"kv_format": "fp8", "attention_backend": "TRITON_ATTN"},
            "kv_format", "capability 8.9", "FLASHINFER",
        ),
        ({"kv_format": "fp8_per_token_head"}, "kv_format", "capability 8.9", "int8"),
        (
            {"kv_format": "int8", "attention_backend": "FLASH_ATTN"},
            "kv_format", "FLASH_ATTN stores no int8_per_token_head", "TRITON_ATTN",
        ),
        (
            {"kv_format": "int4", "attention_backend": "FLASHINFER"},
            "kv_format", "FLASHINFER stores no int4_per_token_head", "TRITON_ATTN",
        ),
        (
            {"kv_format": "fp8", "drafter_kv_format": "bf16"},
            "kv_format", "FlashInfer's kernel blocks", "drafter_kv_format to fp8",
        ),
        (
            {"speculation": "mtp", "draft_tokens": 4, "kv_format": "fp8"},
            "draft_tokens", "4 MTP drafts", "at most 3",
        ),
        (
            {"speculation": "mtp", "kv_format": "int8", "drafter_kv_format": "bf16"},
            "drafter_kv_format", "groups of one layer", "int8",
        ),
        (
            {"draft_tokens": 15, "context": 32_768}, "draft_tokens", "lookup drafting", "at most 7",
        ),
        (
            {
                "kv_format": "int4", "drafter_kv_format": "int8", "prefix_cache": True,
                "draft_tokens": 15, "context": 65_536,
            },
            "prefix_cache", "every 106,720 tokens (hashes every 16)", "drafter_kv_format",
        ),
        (
            {"context": 300_000, "kv_format": "int4", "drafter_kv_format": "bf16"},
            "context", "max_position_embeddings", "at most 262144",
        ),
        ({"context": 100_000}, "context", "the pool has 380", "at most 70784"),
        ({"kv_bytes": 10_000_000}, "context", "the pool has 0", "kv_bytes to at least"),
        (
            {"device": "cpu", "kv_format": "int8", "kv_bytes": 10**11, "speculation": "none"},
            "kv_format", "cpu_attn.py", "bf16",
        ),
    ],
)  # fmt: skip
def test_what_does_not_run_says_why(
    changes: dict[str, Any], key: str, why: str, instead: str
) -> None:
    found = [p for p in problems(**changes) if p[0] == key and why in p[1]]
    assert found, problems(**changes)
    assert instead in found[0][2]


@pytest.mark.parametrize("speculation", ["dflash2", "mtp", "none"])
@pytest.mark.parametrize("kv_format", ["bf16", "fp8", "int8", "int4"])
def test_formats_that_settings_choose_themselves_run(kv_format: str, speculation: str) -> None:
    sets = (f"kv_format={kv_format}", f"speculation={speculation}", "context=32768")
    plan = compute(plan_input(resolve("fast", sets=sets, environ={}).config))
    assert not plan.problems
    assert plan.hit_block <= 1696


def test_a_window_block_that_is_the_hash_block_allows_hits_inside_state_blocks() -> None:
    plan = compute(PlanInput(kv_format="int4", drafter_kv_format="int8", context=131_072))
    assert (plan.scheduler_block, plan.hash_block, plan.hit_block) == (1696, 848, 848)
    apart = compute(PlanInput(kv_format="int4", drafter_kv_format="bf16", context=131_072))
    assert (apart.scheduler_block, apart.hash_block, apart.hit_block) == (23_744, 32, 23_744)


def test_pages_that_cannot_be_made_equal_are_refused() -> None:
    # On the CPU no attention layer can pad, and this drafter's page divides nothing.
    geometry = replace(Geometry.builtin(), drafter=Drafter((2048,) * 5, 3, 128, 8))
    plan = compute(PlanInput(device="cpu", kv_bytes=10**11, prefix_cache=False), geometry)
    assert not plan.fits
    assert plan.blocks_available == 0
    assert [p.key for p in plan.problems] == ["drafter_kv_format"]
    assert "cannot be padded" in plan.problems[0].why
    assert compute(replace(plan.inputs, device="cuda"), geometry).fits
