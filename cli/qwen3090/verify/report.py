"""The result of one check, and how a list of them is printed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

FORMAT = 1


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
        check: stable dotted name, such as ``series.0101-embed-quant``; see ``catalogue``.
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


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings have each status."""
    found = Counter(finding.status for finding in findings)
    return {status.value: found[status] for status in Status}


def summary(findings: Iterable[Finding]) -> str:
    """Return the last line: counts, and the checks that failed."""
    found = list(findings)
    number = counts(found)
    failed = [f.check for f in found if f.status is Status.FAIL]
    names = f": {', '.join(failed[:5])}{' ...' if len(failed) > 5 else ''}" if failed else ""
    text = ", ".join(
        [
            f"{number['PASS']} passed",
            f"{number['WARN']} warnings",
            f"{number['SKIP']} skipped",
            f"{number['FAIL']} failed",
        ]
    )
    return f"verify: {text}{names}"


def as_document(findings: Iterable[Finding], profile: str | None) -> dict[str, Any]:
    """Return what ``--json`` prints; its fields are described in docs/reference/verify.md."""
    found = list(findings)
    return {
        "format": FORMAT,
        "status": worst(found).value,
        "profile": profile,
        "counts": counts(found),
        "findings": [finding.as_dict() for finding in found],
    }
