"""A damaged patch is refused as a whole, never applied in part: unidiff alone would skip lines."""

from typing import Any

import pytest
from qwen3090.patches import PatchError, apply
from qwen3090.patches.parse import parse_patch

GOOD = (
    "What: x\n\n--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -1,3 +1,4 @@ heading\n line 1\n+new\n line 2\n"
    " line 3\n@@ -10,3 +11,2 @@\n line 10\n-line 11\n line 12\n"
)


def test_good_patch() -> None:
    patch = parse_patch("0101-x.patch", GOOD.encode())
    (file,) = patch.files
    assert (patch.number, patch.title, patch.paths) == ("0101", "x", ["vllm/a.py"])
    assert [h.source_start for h in file.hunks] == [1, 10]
    assert file.hunks[0].target == ["line 1\n", "new\n", "line 2\n", "line 3\n"]
    assert file.reversed().reversed() == file


DAMAGE = {
    "no diff": (GOOD, "What: x\n"),
    "cut short": (GOOD, GOOD[:-1]),
    "hunk too short": (" line 3\n@@", "@@"),
    "hunk too long": (" line 3\n@@", " line 3\n extra\n@@"),
    "damaged hunk header": ("@@ -10,3 +11,2 @@", "@@ -10,3 +11,2 @"),
    "hunk header without a tail": ("@@ -10,3 +11,2 @@\n", "@ -10,3 +11,2 @@\n"),
    "rename": ("+++ b/vllm/a.py", "+++ b/vllm/c.py"),
    "git rename": (
        "--- a/vllm",
        "diff --git a/vllm/a.py b/vllm/c.py\nrename from vllm/a.py\n--- a/vllm",
    ),
    "mode": (
        "--- a",
        "diff --git a/vllm/a.py b/vllm/a.py\nold mode 100644\nnew mode 100755\n--- a",
    ),
    "symlink": ("--- a", "diff --git a/vllm/n b/vllm/n\nnew file mode 120000\n--- a"),
    "binary": ("--- a", "diff --git a/vllm/n b/vllm/n\nGIT binary patch\n--- a"),
    "names disagree": ("--- a/vllm/a.py", "diff --git a/vllm/a.py b/vllm/a.py\n--- a/vllm/z.py"),
    "outside": ("/vllm/a.py", "/torch/a.py"),
    "climbs out": ("/vllm/a.py", "/vllm/../../a.py"),
    "our own state": ("/vllm/a.py", "/vllm/.qwen3090/applied.json"),
    "no prefix": ("--- a/vllm", "--- vllm"),
    "twice": ("line 12\n", "line 12\n--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -1 +1 @@\n-a\n+b\n"),
    "changes nothing": ("-line 11\n line 12\n", "+line 11\n line 12\n"),
    "mail signature": ("line 12\n", "line 12\n-- \n2.40\n"),
    "odd marker": ("line 12\n", "line 12\n\\ something else\n"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_refused(case: str) -> None:
    old, new = DAMAGE[case]
    assert old in GOOD
    text = GOOD.replace(old, new)
    if case == "changes nothing":
        text = GOOD.replace("+new\n", "").replace("+1,4", "+1,3").replace("+11,2", "+10,2")
    with pytest.raises(PatchError) as caught:
        parse_patch("0101-x.patch", text.encode())
    assert caught.value.message.startswith("0101-x.patch is malformed: ")
    assert "git checkout patches/0101-x.patch" in (caught.value.next_step or "")


def test_not_utf8() -> None:
    with pytest.raises(PatchError, match="byte 6 is not UTF-8"):
        parse_patch("0101-x.patch", GOOD.encode().replace(b"x", b"\xff", 1))


@pytest.mark.parametrize("case", range(54))
def test_any_single_damaged_line_changes_nothing_or_is_harmless(
    standard: Any, snapshot: Any, case: int
) -> None:
    """Drop, double or garble one diff line: either an error and no change, or the same result."""
    patch = standard.patches / "0201-second.patch"
    lines = patch.read_text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("diff --git"))
    index = start + case // 3
    assert index < len(lines) - 1
    replacement = [[], [lines[index]] * 2, [lines[index][:1] + "#" + lines[index][1:]]][case % 3]
    wanted, tree = standard.tree("wanted"), standard.tree()
    apply(wanted, standard.series())
    before = snapshot(tree)
    patch.write_text("\n".join(lines[:index] + replacement + lines[index + 1 :]))
    try:
        apply(tree, standard.series())
    except PatchError as error:
        assert error.patch == "0201-second.patch"
        assert snapshot(tree) == before
    else:
        added = lines[index][0] == "+" and case % 3 == 2  # a changed added line is a valid patch
        assert added or snapshot(tree) == snapshot(wanted)
