"""The reference page of doctor: every check and how it can end, from the table that runs."""

from qwen3090.doctor.outcome import Check
from qwen3090.doctor.table import CHECKS, groups
from qwen3090.doctor.xid_meaning import MEANINGS

INTRODUCTION = """\
`qwen3090 doctor` runs these in this order. A check that finds nothing wrong is printed as `PASS`,
one that does not apply or may not look as `SKIP`, with the reason. Words in braces are filled in.
From a symptom to its cause: [troubleshooting](../guide/troubleshooting.md).
"""
XIDS = """\
After NVIDIA's Xid catalog. `card` FAILs: card, power, bus or driver; `program` WARNs: a program can
cause it by itself.
"""


def page() -> str:
    """Return the page as Markdown, without its title."""
    lines = [INTRODUCTION]
    for group in groups():
        lines += [f"## {group}", ""]
        for check in CHECKS:
            if check.group == group:
                lines += [f"**`{check.name}`**: {check.looks_at}.", "", *_rows(check), ""]
    lines += ["## Xid numbers", "", XIDS, *_xids()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _xids() -> list[str]:
    rows = [f"| {n} | {m.blame} | {m.text} | {m.todo} |" for n, m in sorted(MEANINGS.items())]
    return ["| Xid | | means | next |", "|---:|---|---|---|", *rows]


def _rows(check: Check) -> list[str]:
    rows = ["| outcome | | when | next |", "|---|---|---|---|"]
    for item in check.outcomes:
        when, todo = (text.replace("|", "\\|") for text in (item.when, item.next))
        # A command that the check makes up as a whole has no form of its own to show.
        shown = "named by the check" if todo in ("{cure}", "{todo}", "{install}") else f"`{todo}`"
        rows.append(f"| `{item.code}` | {item.status.value} | {when} | {shown} |")
    return rows
