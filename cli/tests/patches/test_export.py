"""refresh and export keep the series strict while the code and its patches move."""

from pathlib import Path
from typing import Any

import pytest
from qwen3090.patches import PatchError, apply, inspect
from qwen3090.patches.diff import _hunks as hunks
from qwen3090.patches.export import export
from qwen3090.patches.refresh import refresh
from qwen3090.patches.sources import Folder


def test_refresh_after_an_earlier_patch_grew(standard: Any) -> None:
    tree = standard.tree()
    first = standard.patches / "0101-first.patch"
    text = first.read_text()
    grown = text.replace("+and more\n", "+and more\n+and yet more\n").replace(",7 +", ",7 +", 1)
    grown = grown.replace("@@ -2,7 +2,8 @@", "@@ -2,7 +2,9 @@")
    assert grown != text
    first.write_text(grown)
    with pytest.raises(
        PatchError, match=r"0201-second\.patch does not fit vllm/a\.py, hunk 1"
    ) as e:
        apply(tree, standard.series())
    assert "refresh 0201-second.patch" in (e.value.next_step or "")
    header = standard.series().find("0201").header
    done = refresh(Folder(tree), standard.series())
    assert [(d.name, d.moved) for d in done] == [("0201-second.patch", (("vllm/a.py", 1, 1),))]
    assert standard.series().find("0201").header == header
    assert refresh(Folder(tree), standard.series()) == []
    apply(tree, standard.series())
    assert inspect(tree, standard.series()).ok
    assert b"and yet more\n" in (tree / "vllm/a.py").read_bytes()
    assert b"forty\n" in (tree / "vllm/a.py").read_bytes()


def test_refresh_refuses_code_that_is_gone(standard: Any) -> None:
    tree = standard.tree()
    path = tree / "vllm/a.py"
    path.write_text(path.read_text().replace("line 39\n", "rewritten\n"))
    files = {p.name: p.read_bytes() for p in standard.patches.iterdir()}
    with pytest.raises(PatchError, match=r"0201-second\.patch .*hunk 1: its lines are nowhere"):
        refresh(Folder(tree), standard.series())
    assert {p.name: p.read_bytes() for p in standard.patches.iterdir()} == files


def test_refresh_refuses_two_equally_near_places(lab: Any) -> None:
    block = "a\nb\nc\nd\ne\nf\ng\n"
    base = {"vllm/m.py": "x\n" * 10 + block + "x\n" * 10}
    lab.patch("0101-one", {"vllm/m.py": base["vllm/m.py"].replace("d\n", "D\n")}, base)
    tree = lab.tree(files={"vllm/m.py": "x\n" * 6 + block + "y\n" + block + "x\n" * 9})
    with pytest.raises(PatchError, match="fits line 7 and line 15 alike"):
        refresh(Folder(tree), lab.series())


def test_refresh_of_one_needs_the_others_to_fit(standard: Any) -> None:
    tree = standard.tree(files={"vllm/a.py": "moved\n" + "x\n", "vllm/old.py": ""})
    with pytest.raises(PatchError, match=r"0101-first\.patch"):
        refresh(Folder(tree), standard.series(), ["0201"])


def test_export_updates_a_patch_and_keeps_its_header(standard: Any) -> None:
    pristine, work = standard.tree("pristine"), standard.tree("work")
    whole = standard.series()
    apply(work, whole)
    path = work / "vllm/a.py"
    path.write_text(path.read_text().replace("forty\n", "forty two\n"))
    done = export(
        "0201-second",
        Folder(pristine),
        Folder(work),
        whole,
        later_applied=True,
        fields={"Why": "New."},
    )
    assert not done.added and done.paths == ("vllm/a.py", "vllm/new/mod.py")
    series = standard.series()
    assert [p.name for p in series.patches] == [p.name for p in whole.patches]
    assert series.find("0201").fields == {**whole.find("0201").fields, "Why": "New."}
    tree = standard.tree()
    apply(tree, series)
    assert "forty two" in (tree / "vllm/a.py").read_text()


def test_export_puts_a_new_patch_in_order(standard: Any) -> None:
    pristine, work = standard.tree("pristine"), standard.tree("work")
    (standard.patches / "series").write_text("# head\n0101-first.patch # why\n\n0301-third.patch\n")
    text = (work / "vllm/a.py").read_text().replace("line 5\n", "line five\nand more\n")
    (work / "vllm/a.py").write_text(text.replace("line 20\n", "twenty\n"))
    done = export("0150-new", Folder(pristine), Folder(work), standard.series())
    assert done.added
    assert (standard.patches / "series").read_text() == (
        "# head\n0101-first.patch # why\n\n0150-new.patch\n0301-third.patch\n"
    )


def test_export_does_not_swallow_later_patches(standard: Any) -> None:
    pristine, work = standard.tree("pristine"), standard.tree("work")
    series = standard.series()
    apply(work, series)
    path = work / "vllm/a.py"
    path.write_text(path.read_text().replace("line 20\n", "twenty\n"))
    with pytest.raises(PatchError, match=r"holds 0201-second\.patch too") as caught:
        export("0150-new", Folder(pristine), Folder(work), series)
    assert "--later-applied" in (caught.value.next_step or "")
    assert not (standard.patches / "0150-new.patch").exists()
    done = export("0150-new", Folder(pristine), Folder(work), series, later_applied=True)
    assert done.paths == ("vllm/a.py",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("0101-other", "number 0101 belongs to 0101-first.patch"),
        ("New", "not a patch name"),
        ("../0400-x", "not a patch name"),
        ("0001-none", "nothing to export"),
    ],
)
def test_export_refuses(standard: Any, name: str, message: str) -> None:
    tree = standard.tree()
    with pytest.raises(PatchError, match=message):
        export(name, Folder(tree), Folder(tree), standard.series())


def test_export_refuses_binary(lab: Any) -> None:
    pristine, work = lab.tree("pristine"), lab.tree("work")
    (work / "vllm/data.bin").write_bytes(b"\0\1")
    with pytest.raises(PatchError, match=r"vllm/data\.bin differs but is not text"):
        export("0101-x", Folder(pristine), Folder(work), lab.series())


def test_diff_is_what_git_and_patch_read(standard: Any, tmp_path: Path) -> None:
    """The format is the common one: heading, a/ and b/, no timestamps."""
    text = (standard.patches / "0201-second.patch").read_text()
    assert "diff --git a/vllm/a.py b/vllm/a.py\n--- a/vllm/a.py\n+++ b/vllm/a.py\n@@ -" in text
    assert "new file mode 100644\n--- /dev/null\n+++ b/vllm/new/mod.py\n@@ -0,0 +1 @@\n" in text


def test_an_edit_beside_a_repeated_line_keeps_its_context() -> None:
    """GNU patch takes a hunk with less context behind than before for the end of the file."""
    text = [f"line {number}\n" for number in range(40)]
    for after in range(3, 37):
        old = [*text[:after], "\n", "def f():\n", "    pass\n", "\n", *text[after:]]
        new = [*old[: after + 4], "def g():\n", "    pass\n", "\n", *old[after + 4 :]]
        (made,) = [line for line in hunks(old, new) if line.startswith("@@")]
        body = hunks(old, new)[1:]
        leading = next(i for i, line in enumerate(body) if line[0] != " ")
        trailing = next(i for i, line in enumerate(reversed(body)) if line[0] != " ")
        assert leading == trailing == 3, f"{made}{''.join(body)}"


def test_a_hunk_that_gnu_patch_takes_for_the_end_is_refused(lab: Any) -> None:
    body = (lab.tree("before") / "vllm/a.py").read_text()
    lab.patch("0101-short", {"vllm/a.py": body.replace("line 5\n", "line five\n")})
    file = lab.patches / "0101-short.patch"
    short = file.read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(short) if line.startswith("@@"))
    count = int(short[at].split(",")[1].split()[0])
    short[at] = short[at].replace(f",{count}", f",{count - 1}")
    file.write_text("".join(short[:-1]))
    with pytest.raises(PatchError, match="less context behind than before"):
        apply(lab.tree(), lab.series())
