"""Prints docs/reference/verify.md from the catalogue of checks."""

from qwen3090.verify.catalogue import SECTIONS, Section

INTRO = """\
`qwen3090 verify [PROFILE]` proves what is installed, configured and (with `--live`) running. It
needs no GPU and starts no server. Each line is PASS, WARN, FAIL or SKIP; below a WARN or FAIL
stands the next command. The last line counts. Exit status: 0 when nothing failed, 1 otherwise; a
WARN does not fail.

A check marked **engine** cannot pass on a stock vLLM: where the patch series is not proved by
content, what else was found about the engine counts for nothing and FAILs.

`--json` prints one object:

| field | type | holds |
|---|---|---|
| `format` | number | 1; changes when a field below does |
| `status` | string | the worst finding: PASS, SKIP, WARN or FAIL |
| `profile` | string or null | the PROFILE that was named |
| `counts` | object | how many findings have each status |
| `findings` | list | objects of four strings: `check`, `status`, `detail`, `next` (or empty) |

`NAME.*` below stands for one finding each: a patch, a hook, a cache.
"""


def page() -> str:
    """Return the page without its title."""
    return "\n".join([INTRO, *(_table(section) for section in SECTIONS)])


def _table(section: Section) -> str:
    rows = [
        f"| `{check.name}` | {check.proves}{' (**engine**)' if check.engine else ''} "
        f"| `{check.next}` |"
        for check in section.checks
    ]
    head = [f"## {section.title}", "", section.when, ""]
    return "\n".join([*head, "| check | PASS says | next |", "|---|---|---|", *rows, ""])
