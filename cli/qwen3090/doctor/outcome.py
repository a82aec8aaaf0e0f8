"""A check and the outcomes it can have, declared as data: tests, help and reference walk over them.

A check may only report outcomes that it declares, and each one has the command that mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qwen3090.verify.report import Finding, Status

if TYPE_CHECKING:
    from qwen3090.doctor.context import Context


@dataclass(frozen=True)
class Outcome:
    """One way in which a check goes wrong.

    Attributes:
        code: stable dotted name, such as ``driver.old``.
        status: WARN or FAIL.
        when: the condition, for the reference; completes "when ...".
        next: the command that mends it; ``{name}`` is filled in by the check.
    """

    code: str
    status: Status
    when: str
    next: str

    def found(self, detail: str, **values: object) -> Finding:
        """Return the finding, with ``values`` filled into the next command."""
        return Finding(self.code, self.status, detail, self.next.format(**values))


def fail(code: str, when: str, next_step: str) -> Outcome:
    """Declare an outcome with which the engine does not run, or not as it should."""
    return Outcome(code, Status.FAIL, when, next_step)


def warn(code: str, when: str, next_step: str) -> Outcome:
    """Declare an outcome with which it runs, worse than it could."""
    return Outcome(code, Status.WARN, when, next_step)


@dataclass(frozen=True)
class Check:
    """One thing that is looked at.

    Attributes:
        name: what PASS and SKIP are reported as; its outcomes begin with it.
        group: heading under which it is printed.
        looks_at: what it reads, for the reference.
        run: yields findings.
        outcomes: everything but PASS and SKIP that it can report.
        card: whether it needs the card's answers, so that it is left out when there are none.
    """

    name: str
    group: str
    looks_at: str
    run: Callable[[Context], Iterator[Finding]]
    outcomes: tuple[Outcome, ...] = ()
    card: bool = False


def passed(name: str, detail: str) -> Finding:
    """Return a PASS."""
    return Finding(name, Status.PASS, detail)


def skipped(name: str, detail: str) -> Finding:
    """Return a SKIP; ``detail`` is the reason."""
    return Finding(name, Status.SKIP, detail)
