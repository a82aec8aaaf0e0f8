"""lint names every fault of the folder at once; the series refuses what cannot be applied."""

from typing import Any

import pytest
from qwen3090.patches import PatchError, load_series, series_hash
from qwen3090.patches.lint import lint
from qwen3090.patches.table import BEGIN, END, update_readme


@pytest.fixture
def clean(standard: Any) -> Any:
    (standard.patches / "README.md").write_text(f"# Title\n\n{BEGIN}\n{END}\ntail\n")
    update_readme(standard.patches / "README.md", standard.series())
    assert lint(standard.patches) == []
    return standard


def edit(lab: Any, name: str, old: str, new: str) -> None:
    file = lab.patches / name
    text = file.read_bytes().decode()
    assert old in text
    file.write_bytes(text.replace(old, new, 1).encode())


EDITS = {
    "duplicate line": ("series", "0101-first.patch\n", "0101-first.patch\n" * 2, "listed 2 times"),
    "unused": ("series", "0301-third.patch\n", "", "0301-third.patch: not in series"),
    "missing": ("series", "0301-third.patch", "0301-gone.patch", "cannot read .*0301-gone.patch"),
    "options": ("series", "0101-first.patch", "0101-first.patch -p1", "is not a patch name"),
    "order": (
        "series",
        "0101-first.patch\n0201-second.patch",
        "0201-second.patch\n0101-first.patch",
        "'0101-first.patch' comes after '0201-second.patch'",
    ),
    "no field": ("0101-first.patch", "Why: It was wrong.\n", "", "'Why:' is missing or empty"),
    "empty field": ("0101-first.patch", "Why: It was wrong.", "Why:", "'Why:' is missing or empty"),
    "kind": ("0101-first.patch", "Kind: fix", "Kind: odd", "Kind 'odd' is unknown"),
    "counts": ("0101-first.patch", "+2,8 @@", "+2,9 @@", "malformed"),
    "outside": ("0301-third.patch", "/vllm/old.py", "/vllm/../old.py", "malformed"),
    "trailing blanks": ("0101-first.patch", "+and more", "+and more  ", "blanks at its end"),
    "added CRLF": ("0101-first.patch", "+and more", "+and more\r", "adds a line with a CRLF end"),
    "stale table": (
        "0101-first.patch",
        "What: Change",
        "What: Alter",
        "run: qwen3090 patches table",
    ),
    "table edited": ("README.md", "Change a thing", "Change things", "run: qwen3090 patches table"),
    "no markers": ("README.md", END, "", "has no place for the table"),
}


@pytest.mark.parametrize("case", EDITS)
def test_finding(clean: Any, case: str) -> None:
    name, old, new, message = EDITS[case]
    edit(clean, name, old, new)
    findings = lint(clean.patches)
    import re

    assert any(re.search(message, finding) for finding in findings), findings
    assert all(": " in finding for finding in findings)


def test_crlf_everywhere(clean: Any) -> None:
    file = clean.patches / "0101-first.patch"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert any("CRLF line end" in finding for finding in lint(clean.patches))


def test_trimmed_context(lab: Any) -> None:
    base = {"vllm/a.py": "a\n\nb\nc\n"}
    lab.patch("0101-x", {"vllm/a.py": "a\n\nB\nc\n"}, base)
    edit(lab, "0101-x.patch", "\n \n", "\n\n")
    assert any("an editor trimmed it" in finding for finding in lint(lab.patches))


def test_several_findings_at_once(clean: Any) -> None:
    edit(clean, "0101-first.patch", "Kind: fix", "Kind: odd")
    edit(clean, "0201-second.patch", "Upstream: none\n", "")
    (clean.patches / "0150-stray.patch").write_text("x\n")
    text = "\n".join(lint(clean.patches))
    assert all(name in text for name in ("0101-first", "0201-second", "0150-stray", "README.md"))


def test_number_twice(clean: Any) -> None:
    raw = (clean.patches / "0101-first.patch").read_bytes()
    (clean.patches / "0101-twin.patch").write_bytes(raw)
    edit(clean, "series", "0101-first.patch\n", "0101-first.patch\n0101-twin.patch\n")
    assert any("number 0101 is used by" in finding for finding in lint(clean.patches))
    with pytest.raises(PatchError, match="numbers must ascend"):
        load_series(clean.patches)


def test_emptied_series_is_refused(clean: Any) -> None:
    (clean.patches / "series").write_text("# nothing\n")
    with pytest.raises(PatchError, match="names no patch, but 3 patch files lie beside it"):
        load_series(clean.patches)
    assert lint(clean.patches)


def test_missing_series_file(lab: Any) -> None:
    (lab.patches / "series").unlink()
    with pytest.raises(PatchError, match="cannot read the series"):
        lint(lab.patches)


def test_series_hash_is_of_names_and_contents(clean: Any) -> None:
    first = series_hash(clean.series())
    edit(clean, "series", "# comment", "# another comment")
    assert series_hash(clean.series()) == first
    edit(clean, "0101-first.patch", "+and more", "+and less")
    assert series_hash(clean.series()) != first
    edit(clean, "0101-first.patch", "+and less", "+and more")
    assert series_hash(clean.series()) == first
    (clean.patches / "0101-first.patch").rename(clean.patches / "0101-named.patch")
    edit(clean, "series", "0101-first", "0101-named")
    assert series_hash(clean.series()) != first


def test_table_keeps_the_rest_of_the_readme(clean: Any) -> None:
    text = (clean.patches / "README.md").read_text()
    assert text.startswith("# Title\n") and text.endswith(f"{END}\ntail\n")
    assert "| [0101](0101-first.patch) | Change a thing. | It was wrong. | fix | none |" in text
