"""What a checkpoint check reports: one finding per broken rule, with the file, value and cure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from qwen3090_prepare.errors import PrepareError


@dataclass(frozen=True)
class Finding:
    """One broken rule.

    Attributes:
        severity: "error" (the engine would fail or answer wrongly) or "warning" (slower or larger
            than it need be).
        rule: short name of the rule, such as "scale-dtype".
        problem: what is wrong; names the file or tensor and the value.
        next_step: what to run or edit.
    """

    severity: Literal["error", "warning"]
    rule: str
    problem: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.severity}: [{self.rule}] {self.problem}\n  next: {self.next_step}"


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise the first error among the findings; say how many more there are."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more problems)" if len(errors) > 1 else ""
        raise PrepareError(errors[0].problem + more, errors[0].next_step)
