"""Verify fetched directories: fast by size and header, deep by sha256 of every byte."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qwen3090.models.finish import foreign_files
from qwen3090.models.hashing import many_sha256
from qwen3090.models.headers import read_header
from qwen3090.models.manifest import Manifest
from qwen3090.models.store import Store, read_marker


@dataclass(frozen=True)
class Finding:
    """One file's state: ``problem`` is None when it is right."""

    repository: str
    path: str
    size: int
    problem: str | None


@dataclass(frozen=True)
class _Expected:
    path: Path
    name: str
    size: int | None
    sha256: str | None


def verify(
    manifest: Manifest,
    store: Store,
    names: list[str],
    *,
    deep: bool,
    advance: Callable[[int], None] | None = None,
    jobs: int | None = None,
) -> list[Finding]:
    """Check each named repository's directory against the manifest.

    Args:
        manifest: what should be there. Generated files are compared with the marker's record.
        store: models directory.
        names: repositories to check; one that was never fetched is a finding.
        deep: read everything and compare sha256; otherwise sizes, safetensors headers, JSON syntax.
        advance: called with bytes hashed.
        jobs: hashing threads; default one per core.
    """
    findings, to_hash = [], {}
    for name in names:
        directory = store.final(name)
        if not directory.is_dir():
            unfinished = store.staging(name).is_dir()
            state = "a fetch of it is not finished" if unfinished else "not fetched"
            findings.append(Finding(name, "", 0, state))
            continue
        for expected in _expected(manifest, name, directory):
            problem = _quick(expected)
            if problem is None and deep and expected.sha256:
                to_hash[expected.path] = expected
                continue
            size = expected.path.stat().st_size if expected.path.is_file() else 0
            findings.append(Finding(name, expected.name, size, problem))
    for path, digest in many_sha256(to_hash, jobs=jobs, advance=advance):
        expected = to_hash[path]
        name = next(n for n in names if path.is_relative_to(store.final(n)))
        problem = None
        if isinstance(digest, OSError):
            problem = f"cannot be read: {digest.strerror}"
        elif digest != expected.sha256:
            problem = f"sha256 is {digest}, expected {expected.sha256}"
        findings.append(Finding(name, expected.name, path.stat().st_size, problem))
    return sorted(findings, key=lambda finding: (names.index(finding.repository), finding.path))


def strangers(store: Store, name: str) -> list[Path]:
    """Return files in a repository's directory that nothing put there on record."""
    directory = store.final(name)
    return foreign_files(directory) if directory.is_dir() else []


def _expected(manifest: Manifest, name: str, directory: Path) -> list[_Expected]:
    repository = manifest.repositories[name]
    marker = read_marker(directory)
    records = marker.files if marker else {}
    expected = [_Expected(directory / f.path, f.path, f.size, f.sha256) for f in repository.files]
    for made in repository.generated:
        record = records.get(made.path)
        sha256 = record.sha256 if record else None
        size = record.size if record else None
        expected.append(_Expected(directory / made.path, made.path, size, sha256))
    return expected


def _quick(expected: _Expected) -> str | None:
    path = expected.path
    if not path.is_file():
        return "missing"
    size = path.stat().st_size
    if expected.size is not None and size != expected.size:
        return f"has {size} bytes, expected {expected.size}"
    if expected.sha256 is None:
        return "was made here, but nothing is on record to compare it with"
    try:
        if path.suffix == ".safetensors":
            header = read_header(path)
            return header if isinstance(header, str) else None
        if path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        return f"is not JSON: {error}"
    return None
