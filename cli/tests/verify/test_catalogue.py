"""The catalogue knows every check, and says by name which are not about the engine."""

import re
from pathlib import Path

import pytest
import qwen3090.verify
import qwen3090_prepare
from qwen3090.verify import Finding, Status
from qwen3090.verify.catalogue import CATALOGUE, entry
from qwen3090.verify.gate import gate, proven
from qwen3090.verify.reference import page

# What may PASS beside a stock vLLM: everything that would be as true with another engine.
NOT_ENGINE = {
    "environment.lock", "environment.python", "environment.packages", "environment.wheels",
    "environment.files", "environment.foreign", "cuda.toolchain", "cache.*",
    "settings", "settings.key", "settings.plan", "settings.prefix-cache", "settings.graphs",
    "unit", "unit.model",
    *(c.name for c in CATALOGUE if c.name.startswith(("checkpoint", "drafter"))),
}  # fmt: skip


def test_what_is_not_about_the_engine_is_named() -> None:
    assert {check.name for check in CATALOGUE if not check.engine} == NOT_ENGINE


def test_names_are_unique_and_every_check_has_a_next_command() -> None:
    assert len({check.name for check in CATALOGUE}) == len(CATALOGUE)
    assert all(check.proves and check.next for check in CATALOGUE)


def test_every_finding_in_the_code_is_in_the_catalogue() -> None:
    folder = Path(qwen3090.verify.__file__).parent
    text = "\n".join(path.read_text() for path in folder.rglob("*.py"))
    names = set(re.findall(r'[Ff]inding\(\s*f?"([a-z][a-z0-9.-]*)', text))
    names |= set(re.findall(r'^    "(live\.[a-z-]+)": ', text, re.MULTILINE))
    assert len(names) > 60
    names.remove("checkpoint.")  # prepare's rules: the next test
    for name in names:
        whole = f"{name}NAME" if name.endswith(".") else name
        assert entry(whole).name in (name, f"{name}*", "series.*", "ops.*", "live.ops.*")


def test_every_rule_of_prepare_is_in_the_catalogue() -> None:
    folder = Path(qwen3090_prepare.__file__).parent
    text = "\n".join((folder / name).read_text() for name in ("checker.py", "rules.py"))
    rules = set(re.findall(r'Finding\("(?:error|warning)", "([a-z-]+)"', text))
    assert len(rules) > 10
    for rule in rules:
        assert entry(f"checkpoint.{rule}").name == f"checkpoint.{rule}"


def test_a_family_holds_what_has_no_entry_of_its_own() -> None:
    assert entry("series.0101-x.patch").name == "series.*"
    assert entry("series.outside").name == "series.outside"
    assert entry("live.ops.cpu-linear-kernel").name == "live.ops.*"
    with pytest.raises(KeyError):
        entry("nothing.such")


def test_the_page_shows_every_check() -> None:
    text = page()
    assert all(f"| `{check.name}` |" in text for check in CATALOGUE)


PATCH = Finding("series.0101-a.patch", Status.PASS, "in")
MISSING = Finding("series.0102-b.patch", Status.FAIL, "not in", "apply")


def test_only_a_whole_series_is_a_proof() -> None:
    assert proven([PATCH])
    assert not proven([PATCH, MISSING])
    assert not proven([])
    assert not proven([PATCH, Finding("series.outside", Status.FAIL, "changed", "repair")])


def test_without_the_series_no_finding_of_the_engine_passes() -> None:
    made = [
        PATCH,
        Finding("ops.a", Status.PASS, "there"),
        Finding("ops.b", Status.FAIL, "gone", "mend"),
        Finding("settings.key", Status.PASS, "private"),
    ]
    through = list(gate(made, False, "qwen3090 patches apply"))
    assert [each.status for each in through] == [
        Status.PASS, Status.FAIL, Status.FAIL, Status.PASS,
    ]  # fmt: skip
    assert (through[1].next, through[2].next) == ("qwen3090 patches apply", "mend")
    assert list(gate(made, True, "")) == made
