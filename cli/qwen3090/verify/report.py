"""The result of one check, and how a list of them is printed."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Outcome of a check. SKIP means it did not apply or was not asked for."""

    PASS = "PASS"  # noqa: S105
    SKIP = "SKIP"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """One checked fact.

    Attributes:
        check: stable dotted name, such as ``series.0101-embed-quant``.
        status: the outcome.
        detail: what was found, with the value.
        next: the command that mends it; empty unless WARN or FAIL.
    """

    check: str
    status: Status
    detail: str
    next: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {**asdict(self), "status": self.status.value}


def worst(findings: Iterable[Finding]) -> Status:
    """Return the most severe status; PASS for an empty list."""
    order = list(Status)
    return max((f.status for f in findings), key=order.index, default=Status.PASS)


def render(findings: Iterable[Finding]) -> str:
    """Return one line a finding, and the next command below each problem."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.status.value:4}  {finding.check}: {finding.detail}")
        if finding.next and finding.status in (Status.WARN, Status.FAIL):
            lines.append(f"      next: {finding.next}")
    return "\n".join(lines)
