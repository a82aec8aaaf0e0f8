"""Finds everything wrong in the patches folder at once; `load_series` stops at the first thing."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

from qwen3090.patches.errors import PatchError
from qwen3090.patches.header import FIELDS, KINDS
from qwen3090.patches.model import Patch
from qwen3090.patches.series import load_series, read_names, read_patch
from qwen3090.patches.table import read_readme, updated

_PLAIN = {"series", "README.md"}
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def lint(directory: Path) -> list[str]:
    """Return every finding as one line ``FILE[:LINE]: what; what to do``; empty when all is well.

    Raises:
        PatchError: there is no series file.
    """
    names = read_names(directory)
    findings = _series(directory, names)
    broken = False
    for name in dict.fromkeys(names):
        raw = _raw(directory / name)
        if raw is not None:
            findings += _whitespace(name, raw)
        try:
            patch = read_patch(directory, name)
        except PatchError as error:
            findings.append(f"{name}: {error.message}; {error.next_step}")
            broken = True
        else:
            findings += _header(patch)
    if not broken:
        findings += _table(directory)
    return findings


def _raw(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _series(directory: Path, names: list[str]) -> list[str]:
    findings = []
    for name, count in Counter(names).items():
        if count > 1:
            findings.append(f"series: '{name}' is listed {count} times; keep one line")
    for number, count in Counter(name[:4] for name in dict.fromkeys(names)).items():
        if count > 1:
            both = ", ".join(name for name in dict.fromkeys(names) if name[:4] == number)
            findings.append(f"series: number {number} is used by {both}; renumber one")
    for first, second in pairwise(names):
        if first[:4] > second[:4]:
            findings.append(f"series: '{second}' comes after '{first}'; sort by number")
    unused = {file.name for file in directory.iterdir()} - set(names) - _PLAIN
    for name in sorted(unused):
        findings.append(f"{name}: not in series; list it there or delete it")
    if (raw := _raw(directory / "series")) and b"\r" in raw:
        findings.append("series: CRLF line ends; save it with LF")
    return findings


def _header(patch: Patch) -> list[str]:
    findings = []
    for name in FIELDS:
        if not patch.fields.get(name):
            findings.append(f"{patch.name}: header field '{name}:' is missing or empty; write it")
    kind = patch.fields.get("Kind")
    if kind and kind not in KINDS:
        findings.append(f"{patch.name}: Kind '{kind}' is unknown; use one of {', '.join(KINDS)}")
    return findings


def _whitespace(name: str, raw: bytes) -> list[str]:
    """Find CRLF, added lines with blanks at the end, and context that an editor trimmed."""
    findings = []
    left = right = 0
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n")[:-1], 1):
        if left <= 0 and right <= 0:
            if match := _HUNK.match(line):
                left, right = (int(count) if count else 1 for count in match.groups())
            if line.endswith("\r"):
                findings.append(f"{name}:{number}: CRLF line end; save it with LF")
            continue
        if line.startswith("\\"):
            continue
        left -= line[:1] != "+"
        right -= line[:1] != "-"
        if line in ("", "\r"):
            findings.append(
                f"{name}:{number}: an empty context line lost its blank (an editor trimmed it); "
                f"run: qwen3090 patches refresh {name}"
            )
        elif line.endswith("\r") and line[0] == "+":
            findings.append(f"{name}:{number}: adds a line with a CRLF end; use LF")
        elif line[0] == "+" and line[-1] in " \t":
            findings.append(f"{name}:{number}: adds a line with blanks at its end; trim it")
    return findings


def _table(directory: Path) -> list[str]:
    try:
        series = load_series(directory)
        file = directory / "README.md"
        text = read_readme(file)
        stale = updated(text, series, file) != text
    except PatchError as error:
        if error.patch:
            return []
        return [f"README.md: {error.message}; {error.next_step}"]
    return ["README.md: the table is stale; run: qwen3090 patches table"] if stale else []
