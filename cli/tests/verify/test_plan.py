"""Pool, prefix cache and graph sizes of a profile are checked before anything is started."""

import pytest
from qwen3090.config import profile_names, resolve
from qwen3090.verify import Finding, Status
from qwen3090.verify.plan import check_plan


def found(profile: str, *sets: str) -> dict[str, Finding]:
    config = resolve(profile, sets=sets, environ={}).config
    return {each.check: each for each in check_plan(config, profile)}


@pytest.mark.parametrize("profile", [name for name in profile_names() if name != "demo"])
def test_every_profile_passes(profile: str) -> None:
    bad = [each for each in found(profile).values() if each.status in (Status.FAIL, Status.WARN)]
    assert not bad


def test_a_pool_too_small_fails_with_the_numbers() -> None:
    finding = found("fast", "kv_bytes=2GiB")["settings.plan"]
    assert finding.status is Status.FAIL
    assert "363 blocks needed" in finding.detail
    assert finding.next == "qwen3090 plan fast"


@pytest.mark.parametrize(
    ("drafter", "status", "says"),
    [
        ("int8", Status.PASS, "at multiples of 848 tokens"),
        ("bf16", Status.WARN, "blocks of [448, 1696] tokens: hits, at 23744s, are rare"),
    ],
)
def test_blocks_that_differ_are_told_from_those_that_never_meet(
    drafter: str, status: Status, says: str
) -> None:
    sets = ("kv_format=int4", f"drafter_kv_format={drafter}")
    finding = found("fast", *sets)["settings.prefix-cache"]
    assert finding.status is status
    assert says in finding.detail


def test_without_prefix_caching_it_is_skipped() -> None:
    assert found("fast", "prefix_cache=false")["settings.prefix-cache"].status is Status.SKIP


def test_graphs_that_no_step_can_use_fail() -> None:
    finding = found("fast", "graph_sizes=4")["settings.graphs"]
    assert finding.status is Status.FAIL
    assert finding.next == "--set graph_sizes=64"


def test_steps_beyond_the_largest_graph_are_warned_of() -> None:
    finding = found("fast", "graph_sizes=32")["settings.graphs"]
    assert finding.status is Status.WARN
    assert "5 requests and more (40 tokens)" in finding.detail


def test_sizes_that_leave_gaps_are_warned_of() -> None:
    """What vLLM itself captures up to 25 tokens: 3 requests of 5 get the piecewise graph of 16."""
    sets = ("speculation=mtp", "draft_tokens=4", "seats=5")
    finding = found("fast", *sets, "graph_sizes=[1, 2, 4, 8, 16, 24]")["settings.graphs"]
    assert (finding.status, finding.next) == (Status.WARN, "--set graph_sizes=25")
    assert "steps of 3, 5 requests" in finding.detail
    assert found("fast", *sets, "graph_sizes=25")["settings.graphs"].status is Status.PASS


def test_without_graphs_nothing_is_covered() -> None:
    assert found("fast", "eager=true")["settings.graphs"].status is Status.SKIP
