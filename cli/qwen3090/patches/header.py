"""A patch file's header: what, why, kind, upstream, retirement; the table is made of it."""

import re

# Every patch states these; ``none`` is a fair answer for Upstream.
FIELDS = ("What", "Why", "Kind", "Upstream", "Retires-when")
KINDS = ("backport", "feature", "fix", "wiring")

_FIELD = re.compile(r"^(" + "|".join(FIELDS) + r"):[ \t]*(.*)$")


def parse_header(header: str) -> dict[str, str]:
    """Return the fields found in a header.

    A field is ``Name: value``; indented lines after it continue the value. Everything
    else is free text. The first of two fields of one name counts.
    """
    fields: dict[str, str] = {}
    current: str | None = None
    for line in header.split("\n"):
        match = _FIELD.match(line)
        if match and match[1] not in fields:
            current = match[1]
            fields[current] = match[2].strip()
        elif current and line[:1] in (" ", "\t") and line.strip():
            fields[current] = f"{fields[current]} {line.strip()}".strip()
        else:
            current = None
    return fields


def make_header(values: dict[str, str]) -> str:
    """Return a header with every field, empty where ``values`` has none, and a blank last line."""
    return "".join(f"{name}: {values.get(name, '')}".rstrip() + "\n" for name in FIELDS) + "\n"
