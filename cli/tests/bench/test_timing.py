"""The figures are the ones that the stub really sent, within 2 %."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SIZES = [1, 3, 1, 4, 2, 2, 3, 1, 4, 4, 2, 3]


@pytest.fixture(scope="module")
def measured(
    shared_stub: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], list[Any]]:
    out = tmp_path_factory.mktemp("out")
    server = shared_stub(ttft=0.6, gap=0.05, sizes=SIZES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qwen3090.bench.counters.LATE_SECONDS", 3.0)  # as in conftest.py
        done = server.bench("chat", "--warmups", 1, "--repeats", 1, "--out", out)
    assert done.exit_code == 0, done.output
    return json.loads((out / "bench.json").read_text()), server.sent()


def test_reports_what_was_sent(measured: tuple[dict[str, Any], list[Any]]) -> None:
    run, sent = measured
    assert len(sent) == 9  # a warm-up and the eight prompts
    truth: dict[str, list[float]] = {"ttft": [], "e2e": [], "decode": [], "e2e_rate": []}
    for answer in sent[1:]:
        (first, _), (last, _) = answer["sent"][0], answer["sent"][-1]
        truth["ttft"].append(first - answer["received"])
        truth["e2e"].append(answer["ended"] - answer["received"])
        truth["decode"].append((sum(SIZES) - SIZES[0]) / (last - first))
        truth["e2e_rate"].append(sum(SIZES) / truth["e2e"][-1])
    rows = run["suites"][0]["rows"]
    assert [row["name"] for row in rows] == ["chat", "code", "English prose", "other languages"]
    samples = [sample for row in rows for sample in row["samples"]]
    for key, values in truth.items():
        found = [sample[key] for sample in samples]
        assert statistics.median(found) == pytest.approx(statistics.median(values), rel=0.02), key
    assert statistics.median(truth["decode"]) == pytest.approx(29 / (11 * 0.05), rel=0.2)


def test_counts_steps_and_acceptance(measured: tuple[dict[str, Any], list[Any]]) -> None:
    run, _ = measured
    steps = len(SIZES) - 1
    for row in run["suites"][0]["rows"]:
        assert row["summary"]["tokens_per_step"]["median"] == pytest.approx(29 / steps)
        assert row["summary"]["output_tokens"]["median"] == sum(SIZES)
    shares = run["suites"][0]["rows"][0]["acceptance"]
    kept = [sum(size > place for size in SIZES[1:]) / steps for place in (1, 2, 3)]
    assert shares == pytest.approx(kept)


def test_every_prompt_is_new_and_every_seed_its_own(
    measured: tuple[dict[str, Any], list[Any]],
) -> None:
    _, sent = measured
    starts = [answer["prompt"].split(".")[0] for answer in sent]
    assert len(set(starts)) == len(starts)
    assert len({len(start) for start in starts}) == 1
    seeds = [answer["body"]["seed"] for answer in sent[1:]]
    assert len(set(seeds)) == len(seeds)


def test_merged_first_chunk_is_not_counted_as_decode(
    stub: Callable[..., Any], tmp_path: Path
) -> None:
    server = stub(ttft=0.01, gap=0.08, sizes=[5, 1, 1, 1])
    done = server.bench("chat", "--warmups", 0, "--repeats", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "bench.json").read_text())["suites"][0]["rows"]
    found = [sample["decode"] for row in rows for sample in row["samples"]]
    spans = [answer["sent"][-1][0] - answer["sent"][0][0] for answer in server.sent()]
    # Of 8 tokens 5 came first: 3 were decoded in the span.
    truth = statistics.median(3 / span for span in spans)
    assert statistics.median(found) == pytest.approx(truth, rel=0.1)
