"""What a scenario found: one row for the table, its figures for the raw file."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Row:
    """One scenario.

    Attributes:
        name: the scenario's, as ``--only`` takes it.
        done: what was done to the server.
        held: what went on as it should.
        lost: what was lost; "nothing" when nothing was.
        recovery: seconds until all was as before, or "-" when it was never otherwise.
        problems: what went wrong against the scenario's own demands; empty when it passed.
        figures: every number that was taken, by name.
    """

    name: str
    done: str
    held: str = ""
    lost: str = "nothing"
    recovery: str = "-"
    problems: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)

    def demand(self, holds: bool, problem: str) -> None:
        """Note a problem when a demand does not hold."""
        if not holds:
            self.problems.append(problem)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def spread(values: Sequence[float], digits: int = 2) -> dict[str, float]:
    """Return median, 95th and 99th percentile and the largest value."""
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: round(percentile(values, share), digits) for name, share in shares.items()}


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness: 1 when all values are equal, 1/n when one has all."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def append(raw: Path, row: Row) -> None:
    """Write a row into the raw file, in the place of an older one of its name: one line of JSON."""
    rows = {each.name: each for each in read(raw)} | {row.name: row}
    head = [line for line in _lines(raw) if line.startswith("#")]
    body = [json.dumps(asdict(each)) for each in rows.values()]
    raw.write_text("\n".join([*head, *body]) + "\n", encoding="utf-8")


def read(raw: Path) -> list[Row]:
    """Return the rows of a raw file."""
    return [Row(**json.loads(line)) for line in _lines(raw) if line.startswith("{")]


def _lines(raw: Path) -> list[str]:
    return raw.read_text(encoding="utf-8").splitlines() if raw.exists() else []


def markdown(rows: Sequence[Row]) -> str:
    """Return the table of a guide."""
    lines = ["| what was done | what held | what was lost | recovery |", "|---|---|---|---:|"]
    lines += [f"| {row.done} | {row.held} | {row.lost} | {row.recovery} |" for row in rows]
    return "\n".join(lines)
