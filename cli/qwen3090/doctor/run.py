"""Runs every check, in the order of the table, and lets none of them stop the others."""

from collections.abc import Iterator

from qwen3090 import smi
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, skipped, warn
from qwen3090.doctor.table import CHECKS
from qwen3090.verify.report import Finding

CRASHED = warn(
    "doctor.crashed",
    "a check itself failed, which is a mistake of this program",
    "report it: qwen3090 doctor --report -",
)


def diagnose(context: Context) -> Iterator[tuple[Check, list[Finding]]]:
    """Yield each check with its findings, as they are made."""
    for check in CHECKS:
        yield check, findings(check, context)


def findings(check: Check, context: Context) -> list[Finding]:
    """Return what one check finds; without the card's answers some are left out."""
    if check.group in ("Card", "WSL2") and context.on_cpu:
        return [skipped(check.name, f"profile {context.profile} runs on the CPU")]
    if check.card and context.card is None:
        reason = "nvidia-smi gave no answer" if _silent(context) else "no card is listed"
        return [skipped(check.name, reason)]
    try:
        return list(check.run(context))
    except Exception as error:  # whatever is wrong with one check, the others still help
        return [CRASHED.found(f"{check.name}: {type(error).__name__}: {error}")]


def _silent(context: Context) -> bool:
    return isinstance(context.cards, smi.SmiError)
