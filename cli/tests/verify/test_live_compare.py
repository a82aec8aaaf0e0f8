"""A report as promised passes; each single fact that differs FAILs by name, naming both values."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from qwen3090.config import resolve
from qwen3090.verify import Finding, Status
from qwen3090.verify.catalogue import entry
from qwen3090.verify.live.compare import CHECKS, compare
from qwen3090.verify.live.facts import Promise, promise

from .live_report import SERIES, fast

PLACES = ("model=/models/target", "drafter=/models/drafter")
BITS: dict[str, Any] = {"q_proj": {4}, "k_proj": {4}, "v_proj": {4}, "lm_head": {4}}
BITS |= {"embed_tokens": {8}, "in_proj_ba": {None}}


def promised(*sets: str, profile: str = "fast", **more: Any) -> Promise:
    config = resolve(profile, sets=[*PLACES, *sets], environ={}).require()
    made = promise(config, SERIES)
    known: dict[str, Any] = {"bits": BITS, "drafter_bits": {"fc": {4}}, "knobs": {}}
    return Promise(**{**vars(made), **known, **more})


def findings(report: dict[str, Any], expected: Promise | None = None) -> dict[str, Finding]:
    return {each.check: each for each in compare(expected or promised(), report)}


def test_the_knobs_are_those_of_the_rendered_command() -> None:
    config = resolve("fast-mtp", sets=[*PLACES, "mtp_draft_vocab=false"], environ={}).require()
    assert promise(config, SERIES).knobs["mtp_draft_vocab"] is False


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(report: dict[str, Any]) -> None:
        for key in path[:-1]:
            report = report[key]
        report[path[-1]] = value

    return change


WRONG: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    ("series", put("series", "hash", value="0" * 64), "series 000000000000"),
    ("series", put("series", "hash", value=None), "no series"),
    ("series", put("series", "wrong", value=["vllm/a.py"]), "vllm/a.py was changed after patch"),
    ("series", put("series", "newer", value=["vllm/a.py"]), "after the engine started"),
    ("ops.entry-point", put("hooks", "hooks", 0, "active", value=False), "inactive"),
    ("ops", put("hooks", "hooks", value=[]), "no hooks"),
    ("versions", put("machine", "vllm", value="0.29.0"), "vllm is 0.29.0, pinned 0.28.0"),
    ("versions", put("machine", "torch", value="2.12.1"), "torch is 2.12.1, pinned"),
    ("device", put("machine", "device", value="cpu"), "not on cuda"),
    ("settings", put("settings", "context", value=4096), "context is 4096, the profile says 65536"),
    ("settings", put("settings", "model", value="/other"), "model is '/other'"),
    ("settings", put("settings", "vision_bytes", value=921_460_192), "vision tower of 921460192"),
    ("prefix-cache", put("settings", "prefix_cache", value=False), "prefix_cache is False"),
    ("prefix-cache", put("settings", "state_cache_mode", value="all"), "is 'all'"),
    ("runner", put("settings", "runner", value="v1"), "runner is 'v1'"),
    ("knobs", put("settings", "knobs", value={"x": 1}), "{'x': 1}, expected {}"),
    ("attention", put("attention", "target", "backends", value={"TRITON_ATTN": 16}), "TRITON_ATTN"),
    ("attention", put("attention", "target", "bound", value=15), "1 layers have no cache"),
    ("attention", put("attention", "target", "layers", value=15), "the checkpoint has 16"),
    ("attention", put("attention", "target", "split", value=0), "compute 0 layers, by the profile"),
    ("drafter-attention", put("attention", "drafter", "split", value=5), "by the profile none"),
    ("drafter-attention", put("attention", "drafter", value=None), "no such layers"),
    ("drafter-attention", put("attention", "drafter", "backends", value={"X": 5}), "'X': 5"),
    ("recurrent", put("attention", "recurrent", "state", value={"float32": 48}), "float32"),
    ("recurrent", put("attention", "recurrent", "bound", value=0), "48 layers have no state"),
    ("kv-cache", put("attention", "target", "cache", value={"fp8": 16}), "target: ['fp8']"),
    ("kv-cache", put("attention", "drafter", "cache", value={"auto": 5}), "drafter: ['auto']"),
    ("pool", put("pool", "tokens", value=53_787), "tokens is 53787, the profile says 68605"),
    ("pool", put("pool", "bytes", value=1), "bytes is 1"),
    ("pool", put("pool", "groups", 0, "layers", value=5), "groups (kind"),
    ("graphs", put("graphs", "target", value={}), "no FULL graph"),
    ("graphs", lambda r: r["graphs"]["target"]["FULL"].pop(), "steps of 8 requests (64 tokens)"),
    ("drafter-graphs", put("graphs", "drafter", value={}), "drafts run without"),
    (
        "drafter-graphs",
        lambda r: r["graphs"]["drafter"]["query_cudagraph_manager"]["FULL"].pop(),
        "drafting for 8 requests",
    ),
    ("linears", put("linears", "target", 2, "bits", value=8), "qkv_proj has 8 bits"),
    ("linears", put("linears", "target", 2, "bits", value=None), "the checkpoint says 4"),
    ("linears", put("linears", "target", 2, "kernel", value="ExllamaLinearKernel"), "by Exllama"),
    ("linears", put("linears", "target", 2, "activations", value="int8"), "int8 activations in"),
    ("head", put("linears", "target", 1, "bits", value=None), "lm_head is not quantized"),
    ("head", put("linears", "target", 1, "kernel", value="TritonW4A16LinearKernel"), "expected"),
    ("head", lambda r: r["linears"]["target"].pop(1), "no lm_head"),
    ("embedding", put("linears", "target", 0, "bits", value=None), "embed_tokens is not quant"),
    ("drafter-linears", put("linears", "shared", value=["lm_head"]), "its own embed_tokens"),
    ("drafter-linears", put("linears", "drafter", 0, "bits", value=None), "fc has None bits"),
    ("speculation", put("speculation", "tokens", value=3), "tokens is 3, the profile says 7"),
    ("speculation", put("speculation", "class", value="DFlashSpeculator"), "candidate selector"),
    ("sampling", put("speculation", "sampling", value="greedy"), "sampling is 'greedy'"),
    ("sampling", put("speculation", "rejection", value="synthetic"), "'synthetic'"),
    ("sampling", put("speculation", "selector", value="torch"), "selector is 'torch'"),
    ("draft-vocabulary", put("speculation", "draft_vocabulary", value=9), "9 tokens"),
]


def test_a_report_as_promised_passes() -> None:
    found = findings(fast())
    assert {each.status for each in found.values()} == {Status.PASS}
    assert {f"live.{name}" for name in ("ops.entry-point",)} | set(CHECKS) == set(found)


@pytest.mark.parametrize(("check", "change", "says"), WRONG)
def test_one_other_fact_fails_by_its_name(check: str, change: Any, says: str) -> None:
    report = fast()
    change(report)
    finding = findings(report)[f"live.{check}"]
    assert finding.status is Status.FAIL
    assert says in finding.detail
    assert finding.next == entry(f"live.{check}").next


def test_every_check_is_provoked_above() -> None:
    provoked = {f"live.{check}" for check, _, _ in WRONG}
    assert set(CHECKS) - provoked == {"live.memory"}  # it only warns: the next test


def test_a_full_card_is_warned_of() -> None:
    report = fast()
    report["machine"]["free_bytes"] = 100 << 20
    assert findings(report)["live.memory"].status is Status.WARN


@pytest.mark.parametrize("section", [name for name in fast() if name not in ("format", "hooks")])
def test_a_section_that_could_not_be_made_passes_nothing_of_it(section: str) -> None:
    report = fast()
    report[section] = {"error": "AttributeError: no such thing"}
    failed = [each for each in findings(report).values() if each.status is Status.FAIL]
    assert failed
    assert all("no such thing" in each.detail for each in failed)


def test_an_empty_report_passes_nothing() -> None:
    found = findings({})
    assert Status.PASS not in {each.status for each in found.values()}
    assert set(CHECKS) < set(found)


def mtp(report: dict[str, Any]) -> dict[str, Any]:
    """Turn the report into that of ``long-mtp`` over fp8: FlashInfer, piecewise graphs."""
    report = copy.deepcopy(report)
    report["settings"]["context"] = 150_000
    for role, layers in (("target", 16), ("drafter", 1)):
        found = report["attention"][role]
        found |= {"layers": layers, "bound": layers, "backends": {"FLASHINFER": layers}}
        found["split"] = 0
        found["cache"] = {"fp8_e4m3": layers}
    page = {"block": 832, "page": 1_703_936}
    report["pool"] |= {"blocks": 222, "tokens": 169_897, "bytes": 222 * 17 * 1_703_936}
    report["pool"]["groups"] = [
        *[{"kind": "MambaSpec", "layers": 16, **page}] * 3,
        {"kind": "FullAttentionSpec", "layers": 17, **page},
    ]
    sizes = [1, 2, 4, 8, 16, 24, 32]
    shapes = [{"tokens": size, "query": None} for size in sizes]
    report["graphs"] = {
        "mode": "PIECEWISE",
        "sizes": sizes,
        "target": {"PIECEWISE": shapes},
        "drafter": {"prefill_cudagraph_manager": {"PIECEWISE": shapes}},
    }
    report["speculation"] |= {"method": "mtp", "tokens": 3, "class": "MTPSpeculator"}
    report["speculation"] |= {"selector": None, "draft_vocabulary": 40_960}
    return report


@pytest.mark.parametrize(
    ("profile", "sets", "target", "drafter"),
    [
        ("fast", (), True, False),
        ("fast-mtp", (), True, True),
        ("long", (), True, False),
        ("long-mtp", (), True, True),
        ("long-mtp", ("split_attention=false",), False, False),
        ("long-mtp", ("kv_format=fp8", "draft_tokens=3"), False, False),
        ("huge", (), True, False),
        ("batch", (), False, False),
        ("batch-262k", (), True, False),
        ("fast", ("speculation=none", "draft_tokens=0"), False, False),
    ],
)
def test_the_layers_that_our_kernels_compute(
    profile: str, sets: tuple[str, ...], target: bool, drafter: bool
) -> None:
    expected = promised(*sets, profile=profile)
    assert (expected.target_split, expected.drafter_split) == (target, drafter)


def test_mtp_over_flashinfer_is_piecewise_and_its_drafts_are_warned_of() -> None:
    fp8 = ("kv_format=fp8", "draft_tokens=3")
    expected = promised(*fp8, profile="long-mtp", draft_vocabulary=40_960)
    found = findings(mtp(fast()), expected)
    bad = {each.check: each.detail for each in found.values() if each.status is Status.FAIL}
    assert not bad
    assert found["live.drafter-graphs"].status is Status.WARN
    assert found["live.graphs"].detail.startswith("7 PIECEWISE graphs")


def test_a_profile_without_speculation_has_no_drafter() -> None:
    report = fast()
    expected = promised("speculation=none", "draft_tokens=0")
    assert findings(report, expected)["live.drafter-attention"].status is Status.FAIL
    del report["attention"]["drafter"]
    report["speculation"] = {"method": None, "tokens": 0}
    found = findings(report, expected)
    assert found["live.drafter-attention"].status is Status.PASS
    assert found["live.speculation"].status is Status.PASS
    assert found["live.sampling"].status is Status.SKIP


def test_another_card_may_choose_another_kernel() -> None:
    report = fast()
    report["machine"]["capability"] = "9.0"
    for row in report["linears"]["target"]:
        row["kernel"] = row["kernel"].replace("Marlin", "Machete")
    assert findings(report)["live.linears"].status is Status.PASS
