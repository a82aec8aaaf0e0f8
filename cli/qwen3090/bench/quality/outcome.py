"""What a quality test found: its verdict, its figures, and what to look at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Say = Callable[[str], None]
Verdict = Literal["pass", "fail", "measured"]


@dataclass(frozen=True)
class Outcome:
    """One test's outcome.

    Attributes:
        test: its name.
        verdict: "measured" when the user set no limit that could be missed.
        method: how it was measured, one sentence.
        figures: figures by name.
        details: lines on what failed or stands out.
    """

    test: str
    verdict: Verdict
    method: str
    figures: dict[str, Any] = field(default_factory=dict)
    details: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        return {
            "test": self.test,
            "verdict": self.verdict,
            "method": self.method,
            "figures": self.figures,
            "details": list(self.details),
        }


def judged(passed: bool | None) -> Verdict:
    """Return the verdict for a test that passed or not, None for one without a limit."""
    if passed is None:
        return "measured"
    return "pass" if passed else "fail"


def page(outcomes: Sequence[Outcome], head: str) -> str:
    """Return the outcomes as Markdown below a line of conditions."""
    lines = ["# qwen3090 bench quality\n", head + "\n"]
    for item in outcomes:
        lines += [f"## {item.test}: {item.verdict}\n", item.method + "\n"]
        lines += ["| figure | value |", "|---|---:|"]
        lines += [f"| {name} | {_text(value)} |" for name, value in item.figures.items()]
        lines += ["", *(f"- {detail}" for detail in item.details), ""]
    return "\n".join(lines)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
