"""Figures that others published for this model on one RTX 3090, shown beside ours as theirs."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).parent / "data" / "published.toml"


class Figure(BaseModel):
    """One published figure, or a pair of them, as it was printed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    what: str
    value: str
    conditions: str
    by: str


def figures(suite: str) -> Sequence[Figure]:
    """Return what was published about what a suite measures."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["figure"]
    found = [Figure.model_validate(row) for row in rows]
    return [figure for figure in found if figure.suite == suite]


def table(suite: str) -> str:
    """Return the figures as a Markdown section, empty when there are none."""
    rows = figures(suite)
    if not rows:
        return ""
    lines = [
        "Published by others, on hardware and with settings of their own; not measured here:",
        "",
        "| what | value | conditions | published by |",
        "|---|---|---|---|",
        *(f"| {f.what} | {f.value} | {f.conditions} | {f.by} |" for f in rows),
    ]
    return "\n".join(lines) + "\n"
