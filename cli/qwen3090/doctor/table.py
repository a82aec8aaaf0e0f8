"""Every check in the order in which it runs and is printed, and the reference page made of it."""

from collections.abc import Iterable

from qwen3090.doctor import (
    card,
    devices,
    disk,
    driver,
    jit,
    kernels,
    memory,
    ports,
    power,
    system,
    vram,
    wsl,
    xid,
)
from qwen3090.doctor.outcome import Check, Outcome

CHECKS: tuple[Check, ...] = (
    *driver.CHECKS,
    *devices.CHECKS,
    *card.CHECKS,
    *vram.CHECKS,
    *power.CHECKS,
    *xid.CHECKS,
    *wsl.CHECKS,
    *disk.CHECKS,
    *memory.CHECKS,
    *system.CHECKS,
    *ports.CHECKS,
    *jit.CHECKS,
    *kernels.CHECKS,
)


def groups(checks: Iterable[Check] = CHECKS) -> list[str]:
    """Return the headings in order."""
    return list(dict.fromkeys(check.group for check in checks))


def outcomes() -> list[tuple[Check, Outcome]]:
    """Return every declared outcome with its check."""
    return [(check, outcome) for check in CHECKS for outcome in check.outcomes]


def reference() -> str:
    """Return the checks and outcomes as a Markdown page without its title."""
    lines: list[str] = []
    for group in groups():
        lines += [f"## {group}", ""]
        for check in CHECKS:
            if check.group == group:
                lines += [f"**`{check.name}`**: {check.looks_at}.", "", *_rows(check), ""]
    return "\n".join(lines)


def _rows(check: Check) -> list[str]:
    rows = ["| outcome | | when | next |", "|---|---|---|---|"]
    for item in check.outcomes:
        when, todo = (text.replace("|", "\\|") for text in (item.when, item.next))
        shown = "named by the check" if todo.startswith("{") else f"`{todo}`"
        rows.append(f"| `{item.code}` | {item.status.value} | {when} | {shown} |")
    return rows
