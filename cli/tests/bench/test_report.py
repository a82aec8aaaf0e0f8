"""The report's files: the Markdown as kept, a valid picture, published figures marked as such."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090.bench import markdown, plot, published, report
from qwen3090.bench.counters import Counted
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quantities import QUANTITIES
from qwen3090.bench.results import Row, SuiteResult, same_start
from qwen3090.bench.suites import SUITES, load

PAGE = Path(__file__).parent.parent / "golden" / "bench.md"
REFRESH = "QWEN3090_UPDATE_GOLDEN=1 python -m pytest cli/tests/bench/test_report.py"


def made_run() -> dict[str, Any]:
    """A run with every kind of cell: spread, single value, nothing."""
    counted = Counted(drafts=10, accepted=15, proposed=30, positions={0: 8, 1: 5, 2: 2})
    one = Row("chat", [{"decode": 100.0, "ttft": 0.2}, {"decode": 110.0, "ttft": 0.25}], counted)
    two = Row("code", [{"decode": 150.5, "ttft": 0.125, "tokens_per_step": 2.5}])
    two.counted.preemptions = 1
    chat = SuiteResult(
        "chat", "Two prompts.", ("decode", "ttft", "tokens_per_step"), "", 3, 2, "ab" * 32
    )
    chat.rows, chat.notes = [one, two], ["answers end at 8 tokens"]
    ladder = SuiteResult("ladder", "Streams.", ("throughput",), "streams", 1, 1, "cd" * 32)
    ladder.rows = [Row(str(n), [{"throughput": 40.0 * n}]) for n in (1, 2, 64)]
    conditions = {
        "date": "2026-01-02T03:04:05+00:00",
        "client": "qwen3090 0.1.0 on Python 3.12.0",
        "revision": "f" * 40,
        "series": {"sha256": "a" * 64, "installed": "a" * 64},
        "manifest": "b" * 64,
        "model": {"prepared.json": "c" * 64},
        "profile": "fast",
        "settings": {"context": 65536, "seats": 8},
        "server": {"vllm": "0.28.0", "context": 65536, "engine": "unknown"},
        "packages": {"torch": "2.13.0", "cuda": "13.0"},
        "machine": {"cpu": "a | b", "card": {"name": "A card", "power.limit": "250.00"}},
        "during": {"clocks.sm": {"unit": "MHz", "before": 1, "after": 2}},
        "sampling": "the server's own",
        "seed": 1,
        "run": "0123",
    }
    prints = {kind: kind[0] * 16 for kind in ("workload", "machine", "settings", "model")}
    return report.document(conditions, prints, [chat, ladder])


def test_the_page_is_as_kept() -> None:
    page = markdown.render(made_run(), {"chat": "chat.png"})
    if os.environ.get("QWEN3090_UPDATE_GOLDEN") == "1":
        PAGE.write_text(page, encoding="utf-8")
    kept = PAGE.read_text(encoding="utf-8")
    assert page == kept, f"differs from {PAGE.name}; when meant: {REFRESH}"


def test_json_and_pictures(tmp_path: Path) -> None:
    from PIL import Image

    run = made_run()
    files = report.write(run, tmp_path / "deep" / "out")
    assert [path.name for path in files] == ["bench.json", "bench.md", "chat.png", "ladder.png"]
    assert report.read(tmp_path / "deep" / "out") == json.loads(json.dumps(run))
    for path, panels in ((files[2], 3), (files[3], 1)):
        with Image.open(path) as picture:
            picture.load()
            assert picture.format == "PNG"
            assert picture.size == (plot.WIDTH, plot.PANEL * panels)
            assert len(picture.getcolors(1 << 20) or ()) > 5  # something is drawn
        assert f"]({path.name})" in files[1].read_text()


def test_no_picture_of_nothing() -> None:
    suite = {"suite": "x", "shows": ["decode"], "axis": "", "rows": []}
    assert not plot.plot(suite, Path("not-written.png"))


@settings(deadline=None)
@given(st.floats(1e-6, 1e9))
def test_ticks_are_round_and_cover(most: float) -> None:
    ticks = plot.nice_ticks(most)
    assert ticks[0] == 0 and ticks[-1] >= most * (1 - 1e-6)
    assert 3 <= len(ticks) <= 7
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"format": 99}', '{"format": 1}', '{"format": 1, "suites": [{}]}']
)
def test_foreign_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "bench.json").write_text(content)
    with pytest.raises(InvalidRun, match=r"bench\.json"):
        report.read(tmp_path)


def test_published_figures_name_who_published_them() -> None:
    for suite in SUITES:
        rows = published.figures(suite)
        assert rows and all(row.by and row.conditions for row in rows), suite
        assert "not measured here" in published.table(suite)


def test_every_quantity_of_a_table_is_described(stub: Callable[..., Any]) -> None:
    for name in SUITES:
        assert set(load(name).SHOWS) <= set(QUANTITIES)


def test_same_start() -> None:
    assert same_start("abc", "abcdef") == 1.0
    assert same_start("abx", "abcdef") == pytest.approx(2 / 3)
    assert same_start("abcdefgh", "abcd") == 1.0
    assert same_start("", "abc") == 0.0


def test_pictures_are_not_the_same_for_other_values() -> None:
    def drawn(value: float) -> bytes:
        summary = {"median": value, "min": value / 2, "max": 100.0}
        rows = [{"name": "a", "summary": {"decode": summary}}]
        target = io.BytesIO()
        plot.plot({"suite": "x", "shows": ["decode"], "axis": "", "rows": rows}, target)  # type: ignore[arg-type]
        return target.getvalue()

    assert drawn(10.0) != drawn(90.0)
