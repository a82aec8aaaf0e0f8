"""Xid errors: the driver's own words in the kernel's log, the first place to look after a crash."""

import re
from collections import Counter
from collections.abc import Iterator

from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.doctor.xid_meaning import MEANINGS
from qwen3090.verify.report import Finding

DAYS = 7
_XID = re.compile(r"NVRM: Xid \(?(?:[^)]*)\)?: (\d+)")
_OVER = re.compile(r"Xid .*: 154,.*\(None\)\s*$")  # what the card needs has changed to: nothing
_WHEN = re.compile(r"^\S*\d\S*T\S+|^\[[^\]]+\]")
JOURNAL = ("journalctl", "--no-pager", "-q", "-o", "short-iso", "_TRANSPORT=kernel")
BY_HAND = f"sudo journalctl -k --since '-{DAYS} days' | grep 'NVRM: Xid'"

CARD = fail("xid.card", "the log has an Xid that points at card, power, bus or driver", "{todo}")
PROGRAM = warn("xid.program", "the log has an Xid that a program can cause by itself", "{todo}")
UNKNOWN = warn(
    "xid.unknown",
    "the log has an Xid that this table does not know",
    "look it up: https://docs.nvidia.com/deploy/xid-errors",
)


def xid(context: Context) -> Iterator[Finding]:
    """Count the Xid numbers of the last days and say what each means."""
    lines = _kernel_lines(context)
    if lines is None:
        yield skipped("xid", f"this user may not read the kernel's log; by hand: {BY_HAND}")
        return
    seen: Counter[int] = Counter()
    last: dict[int, str] = {}
    for line in lines:
        match = _XID.search(line)
        if match and not _OVER.search(line):
            seen[int(match[1])] += 1
            last[int(match[1])] = line
    for number, count in sorted(seen.items()):
        yield _finding(number, count, last[number])
    if not seen:
        yield passed("xid", f"none in the kernel's log of the last {DAYS} days")


def _finding(number: int, count: int, line: str) -> Finding:
    when = _WHEN.match(line)
    often = f"Xid {number}, {count} time{'s' if count > 1 else ''}"
    often += f", last at {when[0].strip('[] ')}" if when else ""
    meaning = MEANINGS.get(number)
    if meaning is None:
        return UNKNOWN.found(often)
    outcome = CARD if meaning.blame == "card" else PROGRAM
    return outcome.found(f"{often}: {meaning.text}", todo=meaning.todo)


def _kernel_lines(context: Context) -> list[str] | None:
    """Return the kernel's lines from the journal, else from its ring buffer; None for neither."""
    machine = context.machine
    ran = machine.run([*JOURNAL, f"--since=-{DAYS}days"], 20)
    # A user without the right to them gets an empty answer, and no error.
    if ran.ok and ran.out.strip():
        return ran.out.splitlines()
    ran = machine.run(["dmesg"], 10)
    return ran.out.splitlines() if ran.ok else None


CHECKS = (
    Check(
        "xid",
        "Card",
        f"Xid errors in the kernel's log of the last {DAYS} days (journal, else dmesg)",
        xid,
        (CARD, PROGRAM, UNKNOWN),
    ),
)
