"""Random edits: export, apply, verify and unapply lose no byte, whatever the files hold."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qwen3090.patches import apply, inspect, unapply
from qwen3090.patches.export import export
from qwen3090.patches.refresh import refresh
from qwen3090.patches.sources import Folder

# Few different lines, so that hunks look alike; form feeds and carriage returns must not split.
LINE = st.sampled_from(
    ["", "a", "b", "  x = 1", "\tpass", "a\x0cb", "c\r", "é\u2028ü", "--- a/x", "@@"]
)
TEXT = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(LINE, max_size=40),
    st.sampled_from(["", "\n"]),
)
NAMES = ["vllm/__init__.py", "vllm/a.py", "vllm/sub/b.py", "vllm/sub/deep/c.py"]
TREE = st.dictionaries(st.sampled_from(NAMES), TEXT, min_size=1)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(start=TREE, middle=TREE, end=TREE)
def test_round_trip(
    new_lab: Callable[[Path], Any],
    snapshot: Any,
    start: dict[str, str],
    middle: dict[str, str],
    end: dict[str, str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab = new_lab(Path(folder))
        keep = {"vllm/keep.py": "k\n"}
        trees = [
            lab.tree(name, {**keep, **files})
            for name, files in (("start", start), ("middle", middle), ("end", end))
        ]
        pristine, expected = snapshot(trees[0]), snapshot(trees[2])
        earlier = trees[0]
        for name, tree in (("0101-one", trees[1]), ("0102-two", trees[2])):
            if snapshot(tree) != snapshot(earlier):
                export(name, Folder(trees[0]), Folder(tree), lab.series())
                earlier = tree
        series = lab.series()
        assert refresh(Folder(trees[0]), series) == []
        target = trees[0]
        apply(target, series)
        assert snapshot(target) == expected
        assert inspect(target, series).ok
        unapply(target)
        assert snapshot(target) == pristine
