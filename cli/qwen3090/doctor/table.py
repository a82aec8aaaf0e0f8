"""Every check, in the order in which it runs and is printed."""

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
