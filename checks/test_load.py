"""What checks/load computes and sends, without a server: figures, rows, mutations."""

import importlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

Module = Callable[[str], ModuleType]
HERE = Path(__file__).resolve().parent / "load"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """A function that imports a module of checks/load as its script does."""
    monkeypatch.syspath_prepend(str(HERE))
    before = set(sys.modules)

    def found(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield found
    for name in set(sys.modules) - before:
        if (HERE / f"{name}.py").exists():
            del sys.modules[name]


def test_percentiles_and_fairness(module: Module) -> None:
    report = module("report")
    values = [float(value) for value in range(1, 101)]
    assert report.spread(values) == {"p50": 50, "p95": 95, "p99": 99, "max": 100}
    assert report.percentile([7.0], 0.5) == 7
    assert report.jain([3, 3, 3]) == pytest.approx(1)
    assert report.jain([1, 0, 0, 0]) == pytest.approx(0.25)


def test_a_row_takes_the_place_of_an_older_one(module: Module, tmp_path: Path) -> None:
    report = module("report")
    raw = tmp_path / "raw.txt"
    raw.write_text("# how it was made\n")
    for held in ("first", "second"):
        report.append(raw, report.Row("a", "done", held))
        report.append(raw, report.Row("b", "other", held, problems=["x"]))
    head, *lines = raw.read_text().splitlines()
    assert head == "# how it was made" and len(lines) == 2
    rows = report.read(raw)
    assert [row.held for row in rows] == ["second", "second"] and rows[1].problems == ["x"]
    assert report.markdown(rows).splitlines()[2] == "| done | second | nothing | - |"


def test_mutations_are_wrong_often_and_the_same_each_time(module: Module) -> None:
    pytest.importorskip("aiohttp")
    malformed = module("malformed")

    def made() -> list[bytes]:
        source = random.Random(malformed.SEED)
        bodies = list(malformed.BODIES.values()) * 40
        return [malformed.mutated(source, body) for body in bodies]

    texts = made()
    assert texts == made()
    valid = {json.dumps(body).encode() for body in malformed.BODIES.values()}
    assert sum(text in valid for text in texts) < len(texts) / 20
    unreadable = 0
    for text in texts:
        try:
            json.loads(text)
        except ValueError:
            unreadable += 1
    assert len(texts) / 20 < unreadable < len(texts) / 2


def test_the_results_that_are_kept_have_no_problem(module: Module) -> None:
    report = module("report")
    rows = report.read(HERE.parent.parent / "docs/results/load-faults.txt")
    assert {row.name for row in rows} == set(module("run").SHARED) | set(module("run").ALONE)
    assert [problem for row in rows for problem in row.problems] == []
