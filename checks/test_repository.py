"""Rules that hold for every tracked file: names it must not hold, its length, its first line."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 300
# Written in pieces so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?:^|[^\w.-])/(?:wo" + r"rk|fa" + r"rm|ro" + r"ot)/[A-Za-z.]")
SOURCES = {".py", ".nix", ".sh"}


def tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    found = {}
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data:
            found[str(path.relative_to(ROOT))] = data.decode("utf-8")
    assert len(found) > 20
    return found


def registry_hosts() -> set[str]:
    from pip._internal.models.index import PyPI

    return {PyPI.netloc, PyPI.file_storage_domain}


def test_no_machine_paths(texts: dict[str, str]) -> None:
    hits = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not hits, "paths of one machine:\n" + "\n".join(hits)


def test_no_registry_host_names(texts: dict[str, str]) -> None:
    hits = [name for name, text in texts.items() if any(host in text for host in registry_hosts())]
    assert not hits, f"registry host names in {hits}: name packages, not hosts"


def test_no_file_is_too_long(texts: dict[str, str]) -> None:
    lengths = {
        name: text.count("\n") for name, text in texts.items() if Path(name).suffix in SOURCES
    }
    long = {name: lines for name, lines in lengths.items() if lines > LONGEST}
    assert not long, f"over {LONGEST} lines, split by concern: {long}"


def test_every_source_file_says_why_it_exists(texts: dict[str, str]) -> None:
    silent = []
    for name, text in texts.items():
        golden = name.startswith("cli/tests/golden/")  # what a command prints, to the byte
        if golden or Path(name).suffix not in SOURCES or not text.strip():
            continue
        first = next(
            line for line in text.splitlines() if line.strip() and not line.startswith("#!")
        )
        if not first.startswith(("#", '"""', 'r"""', "/*")):
            silent.append(name)
    assert not silent, f"no opening comment in {silent}"


def test_line_endings_are_unix(texts: dict[str, str]) -> None:
    assert not [name for name, text in texts.items() if "\r" in text]
