"""Reads pip's installation report: which file, with which hash, for every project."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from qwen3090.errors import UserError
from qwen3090.lock.wheelfile import LockError, normalise, split_name


@dataclass(frozen=True)
class Resolved:
    """One project as pip resolved it; ``fields`` are the parts of its file name."""

    project: str
    file: str
    sha256: str
    fields: dict[str, str]
    requires: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """One resolution: ``python`` is the version it was made for (``3.12``)."""

    python: str
    environment: dict[str, str]
    projects: dict[str, Resolved]


def _entry(item: dict[str, Any], source: str) -> Resolved:
    name = item["metadata"]["name"]
    url = urlsplit(item["download_info"]["url"])
    if url.scheme == "file":
        raise UserError(
            f"{source}: {name} was found only in a local folder ({url.path}); a lock of it would "
            "be of no use elsewhere",
            "switch that folder off (pip config unset global.find-links) and run 'qwen3090 lock'",
        )
    file = unquote(url.path.rsplit("/", 1)[-1])
    hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
    sha256 = hashes.get("sha256", "")
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise UserError(
            f"{source}: the index gives no sha256 for {file}",
            "resolve against an index that publishes hashes",
        )
    try:
        fields = split_name(file)
    except LockError as error:
        raise UserError(f"{source}: {error}", "only wheels can be locked; pin one") from None
    requires = tuple(item["metadata"].get("requires_dist", ()))
    return Resolved(normalise(name), file, sha256, fields, requires)


def read_report(path: Path) -> Report:
    """Read a report of ``pip install --dry-run --report``; hosts are dropped here.

    Raises:
        UserError: not such a report, a wheel from a ``file://`` source, without a hash, or an
            sdist.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        environment = document["environment"]
        items = document["install"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is not an installation report of pip ({type(error).__name__}: {error})",
            "make one: pip install --dry-run --ignore-installed --report FILE REQUIREMENT",
        ) from None
    projects = [_entry(item, path.name) for item in items]
    return Report(
        python=environment["python_version"],
        environment={key: str(value) for key, value in environment.items()},
        projects={project.project: project for project in projects},
    )
