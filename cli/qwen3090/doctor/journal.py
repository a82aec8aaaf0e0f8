"""The last lines of the server's unit, without anything that a user wrote to the model.

Only lines of known shapes are kept, and of those nothing that follows the name of a text.
"""

import re

from qwen3090.doctor.context import Context

LINES = 60
UNIT = "qwen3090"
# vLLM's and uvicorn's log lines, this project's own, tracebacks, systemd's.
_KEPT = re.compile(
    r"""^(\([^)]{1,60}\)\s)?(
        (DEBUG|INFO|WARNING|ERROR|CRITICAL)\b[\s:]
      | qwen3090:\s | error:\s | \s+next:\s
      | Traceback\s\(most\srecent | \s+File\s"[^"]*",\sline\s\d+
      | [\w.]*(Error|Exception|Interrupt|Exit)\b
      | (Starting|Started|Stopping|Stopped|Failed)\b | [\w@.-]+\.service:\s
    )""",
    re.X,
)
_TEXT = re.compile(
    r"""["'\\]*\b(prompts?|messages?|content|inputs?|input_value|text|outputs?|completion|query
        |documents?|reasoning\w*|arguments|choices|(prompt_)?token_ids|body|json|msg)
        ["'\\]*\s*[:=](?!\d+(\s|$))""",  # a count, as in this project's line of a request
    re.X | re.I,
)
_QUOTED = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""")
LEFT_OUT = "<text left out>"


def last_lines(context: Context) -> list[str] | None:
    """Return the last lines of the unit's journal, stripped; None when there is none."""
    for scope in ([], ["--user"]):
        command = ["journalctl", *scope, "-u", UNIT, "-n", str(LINES), "-o", "cat"]
        ran = context.machine.run([*command, "--no-pager", "-q"], 20)
        if ran.ok and ran.out.strip():
            return strip(ran.out.splitlines())
    return None


def strip(lines: list[str]) -> list[str]:
    """Return log lines without the texts of users; runs of other lines become one mark."""
    found: list[str] = []
    for line in lines:
        kept = without_texts(line) if _KEPT.match(line) else LEFT_OUT
        if kept != LEFT_OUT or not found or found[-1] != LEFT_OUT:
            found.append(kept)
    return found


def without_texts(line: str) -> str:
    """Return a line of a log without what a user may have written."""
    named = _TEXT.search(line)
    if named:
        line = f"{line[: named.end()]} {LEFT_OUT}"
    return _QUOTED.sub(_quoted, line)


def _quoted(match: re.Match[str]) -> str:
    """Return a quotation left out when it may be prose: with a space, and not a request line."""
    inside = match[2]
    plain = " " not in inside or re.fullmatch(r"[A-Z]+ /[\w/.-]* HTTP/[\d.]+", inside)
    return match[0] if plain else match[1] + LEFT_OUT + match[1]
