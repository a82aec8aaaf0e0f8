"""Drafts by the number of requests: refusals, what overrides it, how vLLM and the user see it."""

from types import SimpleNamespace
from typing import Any

import pytest
from qwen3090.config import ServeConfig, resolve
from qwen3090.config.derive import decode_lengths
from qwen3090.serve.dryrun import choices
from qwen3090.serve.render import draft_ranges, render
from qwen3090.serve.warmup import batches
from qwen3090.verify.live.settings import speculation
from qwen3090.verify.report import Status

KEY = "draft_tokens_by_batch"
TILES = {f"QWEN3090_{KEY.upper()}": "4,4,4,3"}


def config(*sets: str, profile: str = "fast-mtp") -> ServeConfig:
    return resolve(profile, sets=["model=/m", "drafter=/d", *sets], environ=TILES).config


@pytest.mark.parametrize("profile", ["fast-mtp", "long-mtp"])
def test_an_mtp_profile_keeps_a_step_within_a_tile_as_long_as_drafts_pay(profile: str) -> None:
    """Marlin's tiles have 16 rows: a fourth request would begin another with 4 drafts."""
    lengths = decode_lengths(config(profile=profile))
    assert [n * length for n, length in enumerate(lengths, 1)] == [5, 10, 15, 16, 20, 24, 28, 32]


@pytest.mark.parametrize(
    ("profile", "sets", "text", "cure"),
    [
        ("fast", ["4,3"], "a step drafts one block", f"{KEY}=none"),
        ("batch", ["4,3"], "nothing is drafted", f"{KEY}=none"),
        ("fast-mtp", ["4,0"], "1 token or more", f"{KEY}=none"),
        ("fast-mtp", ["[]"], "1 token or more", f"{KEY}=none"),
        ("fast-mtp", ["3,2"], "the most is 3, and draft_tokens = 4", "draft_tokens=3"),
        ("fast-mtp", ["5,4"], "the most is 5, and draft_tokens = 4", "draft_tokens=5"),
        (
            "fast-mtp",
            [
                "4,3",
                "runner=v1",
                "draft_sampling=greedy",
                "rejection_sampling=standard",
                "prefix_cache=0",
            ],
            "no decode step would have a full CUDA graph",
            "runner=v2",
        ),
    ],
)
def test_what_cannot_run_is_refused(profile: str, sets: list[str], text: str, cure: str) -> None:
    first, *others = sets
    sets = ["model=/m", "drafter=/d", f"{KEY}={first}", *others]
    (problem,) = resolve(profile, sets=sets, environ={}).problems
    assert text in problem.text and cure in (problem.next_step or "")


@pytest.mark.parametrize("text", ["4,4,3", "4 4 3", "[4, 4, 3]"])
def test_it_is_a_list_in_any_spelling(text: str) -> None:
    assert config(f"{KEY}={text}").draft_tokens_by_batch == (4, 4, 3)


@pytest.mark.parametrize("change", ["draft_tokens=3", "speculation=dflash2", f"{KEY}=none"])
def test_another_number_of_drafts_or_method_leaves_it_out(change: str) -> None:
    found = config(change)
    assert found.draft_tokens_by_batch is None
    assert len(set(decode_lengths(found))) == 1
    assert "per_batch_size" not in " ".join(render(found, {}).argv)


@pytest.mark.parametrize(
    ("sets", "ranges"),
    [
        ((), [[1, 3, 4], [4, 8, 3]]),
        (("seats=3",), [[1, 3, 4]]),
        (("seats=4",), [[1, 3, 4], [4, 4, 3]]),
        ((f"{KEY}=4,3,4,2", "seats=6"), [[1, 1, 4], [2, 2, 3], [3, 3, 4], [4, 6, 2]]),
    ],
)
def test_the_engine_gets_ranges_that_mean_the_same(sets: Any, ranges: list[list[int]]) -> None:
    found = config(*sets)
    assert draft_ranges(found) == ranges
    utils = pytest.importorskip("vllm.v1.spec_decode.dynamic.utils")
    lookup = utils.build_dynamic_sd_schedule_lookup(ranges, found.seats, 4)
    assert [drafts + 1 for drafts in lookup[1:]] == list(decode_lengths(found))


def test_the_largest_graph_is_that_of_the_largest_step() -> None:
    assert config().graph_sizes == 32
    assert config(f"{KEY}=2,2,2,2,2,2,2,4", "draft_tokens=4").graph_sizes == 40
    assert config(f"{KEY}=4,1").graph_sizes == 16


def test_warm_up_decodes_every_number_of_requests_that_has_a_graph() -> None:
    assert batches(config()) == list(range(1, 9))


def test_serve_says_both_numbers() -> None:
    resolved = resolve("fast-mtp", sets=["model=/m"], environ=TILES)
    lines = choices(resolved, render(resolved.config, {}), False)
    assert any("mtp k=4, 3 from 4 requests on (probabilistic)" in line for line in lines)


@pytest.mark.parametrize(
    ("found", "status"),
    [([4, 4, 4, 3, 3, 3, 3, 3], Status.PASS), ([4] * 8, Status.FAIL), (None, Status.FAIL)],
)
def test_verify_compares_what_the_speculator_drafts(found: Any, status: Status) -> None:
    report = {"speculation": {"method": "mtp", "tokens": 4, "class": "M", "by_batch": found}}
    promise: Any = SimpleNamespace(config=config())
    finding = speculation("live.speculation", promise, report)
    assert finding.status is status
    assert "4, 4, 4, 3, 3, 3, 3, 3" in finding.detail
