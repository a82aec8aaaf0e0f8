"""Writes diffs that depend on the two texts alone: no timestamps, three context lines."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from qwen3090.patches.sources import Source
from qwen3090.patches.text import to_lines

CONTEXT = 3
# More of the common head and tail than the context: an edit beside a repeated line (a blank one)
# can be placed in two ways, and in either one must find its context.
_MARGIN = 64
_HEADING = re.compile(r"^\s*(?:async def|def|class) \w+")
_NO_NEWLINE = "\\ No newline at end of file\n"


def render(before: Source, after: Source, paths: list[str]) -> str:
    """Return the diff of the given files, sorted by path; equal files give nothing."""
    parts = []
    for path in sorted(paths):
        old, new = before.read(path), after.read(path)
        if old != new:
            parts.append(_file(path, old, new))
    return "".join(parts)


def _file(path: str, old: bytes | None, new: bytes | None) -> str:
    head = [f"diff --git a/{path} b/{path}\n"]
    if old is None:
        head.append("new file mode 100644\n")
    if new is None:
        head.append("deleted file mode 100644\n")
    a, b = to_lines(old or b""), to_lines(new or b"")
    if a != b:
        head.append(f"--- {'/dev/null' if old is None else f'a/{path}'}\n")
        head.append(f"+++ {'/dev/null' if new is None else f'b/{path}'}\n")
    return "".join(head + _hunks(a, b))


def _hunks(a: list[str], b: list[str]) -> list[str]:
    out: list[str] = []
    # Without the common head and tail the matcher's work is bounded by the edit, not the file.
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    head, tail = (max(0, count - CONTEXT - _MARGIN) for count in (head, tail))
    matcher = SequenceMatcher(
        None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=False
    )
    for group in matcher.get_grouped_opcodes(CONTEXT):
        a1, a2 = group[0][1] + head, group[-1][2] + head
        b1, b2 = group[0][3] + head, group[-1][4] + head
        heading = next((h for h in reversed(a[:a1]) if _HEADING.match(h)), "").strip()
        text = f"@@ -{_span(a1, a2)} +{_span(b1, b2)} @@ {heading}"
        out.append(f"{text.rstrip()}\n")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [_line(" ", line) for line in a[i1 + head : i2 + head]]
            else:
                out += [_line("-", line) for line in a[i1 + head : i2 + head]]
                out += [_line("+", line) for line in b[j1 + head : j2 + head]]
    return out


def _common(a: list[str], b: list[str]) -> int:
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count


def _span(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(tag: str, line: str) -> str:
    return f"{tag}{line}" if line.endswith("\n") else f"{tag}{line}\n{_NO_NEWLINE}"
