"""The three files of a run: JSON (everything), Markdown (tables and conditions), PNG (pictures)."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qwen3090.bench.markdown import render
from qwen3090.bench.plot import plot
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.results import SuiteResult

FORMAT = 1


def document(
    conditions: dict[str, Any], fingerprint: dict[str, str], suites: Sequence[SuiteResult]
) -> dict[str, Any]:
    """Return a run as JSON types."""
    return {
        "format": FORMAT,
        "fingerprint": fingerprint,
        "conditions": conditions,
        "suites": [suite.as_dict() for suite in suites],
    }


def check_folder(directory: Path) -> None:
    """Refuse a folder that could not be written, before anything is measured; make nothing.

    Raises:
        InvalidRun: it, or the nearest folder above it that exists, is not a writable directory.
    """
    places = (directory.absolute(), *directory.absolute().parents)
    nearest = next(place for place in places if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise InvalidRun(f"cannot write the report: {nearest} is not writable", "--out DIR")


def write(run: dict[str, Any], directory: Path) -> list[Path]:
    """Write ``bench.json``, ``bench.md`` and a picture a suite into ``directory``.

    Returns:
        The files, in that order.

    Raises:
        InvalidRun: the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        pictures = {}
        for suite in run["suites"]:
            path = directory / f"{suite['suite']}.png"
            if plot(suite, path):
                pictures[suite["suite"]] = path
        data, page = directory / "bench.json", directory / "bench.md"
        data.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
        text = render(run, {k: p.name for k, p in pictures.items()})
        page.write_text(text, encoding="utf-8", errors="replace")  # a path in another locale
    except OSError as error:
        what = f"{error.filename or directory}: {error.strerror}"
        raise InvalidRun(f"cannot write the report: {what}", "--out DIR") from None
    return [data, page, *pictures.values()]


def read(path: Path) -> dict[str, Any]:
    """Return a run from its JSON file, or from the directory that holds it.

    Raises:
        InvalidRun: it cannot be read or is no report of this format.
    """
    file = path / "bench.json" if path.is_dir() else path
    try:
        run = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRun(f"{file}: {error.strerror}", "give the file or folder of a run") from None
    except ValueError as error:
        raise InvalidRun(f"{file}: not JSON: {error}") from None
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise InvalidRun(f"{file}: not a report of qwen3090 bench, format {FORMAT}")
    try:
        render(run, {})  # reads every part that a comparison needs
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidRun(f"{file}: a report with parts missing: {error!r}") from None
    return run
