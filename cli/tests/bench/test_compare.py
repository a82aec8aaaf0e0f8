"""Comparing runs: refused when conditions differ, worse and better by the tolerance."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090.bench.compare import Change
from qwen3090.main import cli


def summary(value: float) -> dict[str, Any]:
    spread = {"min": value, "max": value, "mean": value, "p95": value, "cv": 0.01}
    return {"n": 3, "median": value} | spread


def run(decode: float = 100.0, ttft: float = 0.2) -> dict[str, Any]:
    row = {
        "name": "chat",
        "summary": {
            "decode": summary(decode),
            "ttft": summary(ttft),
            "output_tokens": summary(9),
        },
    }
    row |= {"acceptance": [], "preemptions": 0}
    suite = {
        "suite": "chat",
        "about": "",
        "axis": "",
        "notes": [],
        "shows": ["decode", "ttft", "output_tokens"],
        "prompts": "p",
        "warmups": 1,
        "repeats": 3,
        "rows": [row],
    }
    return {
        "format": 1,
        "fingerprint": dict.fromkeys(("workload", "machine", "settings", "model"), "same"),
        "conditions": {
            "date": "2026-01-02",
            "profile": "fast",
            "series": {"installed": "none"},
            "server": {"vllm": "0.28.0", "engine": "unknown"},
            "settings": {"seats": 8},
            "machine": {"card": "A", "cpu": "x"},
            "model": {"prepared.json": "x"},
            "sampling": "greedy",
            "seed": 1,
        },
        "suites": [suite],
    }


def compare(folder: Path, first: Any, second: Any, *words: str) -> Result:
    paths = []
    for name, content in (("a", first), ("b", second)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "bench.json").write_text(json.dumps(content))
        paths.append(str(folder / name))
    return CliRunner().invoke(cli, ["bench", "compare", *paths, *words])


@pytest.mark.parametrize(
    ("decode", "ttft", "status"),
    [
        (100, 0.2, 0),
        (95.1, 0.2, 0),
        (94.9, 0.2, 1),
        (200, 0.2, 0),
        (100, 0.2099, 0),
        (100, 0.2101, 1),
        (100, 0.01, 0),
    ],
)
def test_tolerance(tmp_path: Path, decode: float, ttft: float, status: int) -> None:
    done = compare(tmp_path, run(), run(decode, ttft))
    assert done.exit_code == status, done.output


def test_another_tolerance(tmp_path: Path) -> None:
    assert compare(tmp_path, run(), run(decode=90), "--tolerance", "11").exit_code == 0
    assert compare(tmp_path, run(), run(decode=99), "--tolerance", "0.5").exit_code == 1


def test_counts_that_are_neither_good_nor_bad_are_left_out(tmp_path: Path) -> None:
    done = compare(tmp_path, run(), run(), "--json")
    assert [row["key"] for row in json.loads(done.output)["changes"]] == ["decode", "ttft"]


@pytest.mark.parametrize("kind", ["workload", "machine", "settings", "model"])
def test_other_conditions_are_refused(tmp_path: Path, kind: str) -> None:
    other = run()
    other["fingerprint"][kind] = "another"
    if kind != "workload":
        other["conditions"][kind] = {"card": "B", "cpu": "x"}
    else:
        other["suites"][0]["repeats"] = 9
    done = compare(tmp_path, run(), other)
    assert done.exit_code == 2
    assert f"- {kind}: " in done.output and f"--allow {kind}" in done.output
    assert ("9" if kind == "workload" else "B") in done.output
    allowed = compare(tmp_path, run(), other, "--allow", kind)
    assert allowed.exit_code == 0 and f"note: {kind} differs" in allowed.output


def test_unknown_conditions_do_not_count_as_equal(tmp_path: Path) -> None:
    unknown = run()
    unknown["conditions"]["settings"] = "unknown"
    done = compare(tmp_path, unknown, copy.deepcopy(unknown))
    assert done.exit_code == 2 and "settings: unknown" in done.output


def test_runs_without_a_common_row(tmp_path: Path) -> None:
    other = run()
    other["suites"][0]["suite"] = "copy"
    done = compare(tmp_path, run(), other, "--allow", "workload")
    assert done.exit_code == 2 and "no row in common" in done.output


def test_no_file(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["bench", "compare", str(tmp_path), str(tmp_path)])
    assert done.exit_code == 2 and "bench.json" in done.output


@settings(deadline=None)
@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.sampled_from(["decode", "ttft"]))
def test_better_one_way_is_worse_the_other(one: float, two: float, key: str) -> None:
    there, back = Change("s", "r", key, one, two, None), Change("s", "r", key, two, one, None)
    assert (
        there.verdict(0.0)
        == {"better": "worse", "worse": "better", "same": "same"}[back.verdict(0.0)]
    )
