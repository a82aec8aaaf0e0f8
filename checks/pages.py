"""The parts of written pages that are made from data: the table of profiles, printed plans.

A part stands between ``<!-- made: NAME -->`` and ``<!-- end: NAME -->``.
"""

import re
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner
from load import report
from qwen3090.config import load_profile, profile_names, resolve
from qwen3090.main import cli
from qwen3090.plan import compute
from qwen3090.plan.budget import CARD_BYTES
from qwen3090.serve import exit_codes
from qwen3090.serve.plan_gate import plan_input

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ["fast", "--set", "kv_format=int8", "--set", "attention_backend=FLASH_ATTN"]


def profile_table() -> str:
    """Return one row a GPU profile: name, purpose, context and pool, as the plan computes it."""
    rows = ["| profile | for | tokens of one request | pool |", "|---|---|---:|---:|"]
    for name in profile_names():
        config = resolve(name, environ={}).config
        if config.device == "cuda":
            pool = compute(plan_input(config)).pool_tokens
            summary = load_profile(name).summary
            rows.append(f"| `{name}` | {summary} | {config.context:,} | {pool:,} |")
    return "\n".join(rows)


def shown(arguments: list[str], keep: Callable[[str], str] = str) -> str:
    """Return a console block of ``qwen3090 plan`` on a card of 24 GB.

    Args:
        arguments: of ``plan``; the card's size is added when it runs and not shown.
        keep: what to show of the output.
    """
    command = ["plan", *arguments, "--vram", str(CARD_BYTES)]
    output = CliRunner().invoke(cli, command, prog_name="qwen3090").output
    text = "\n".join(line.rstrip() for line in keep(output).rstrip().splitlines())
    return f"```console\n$ qwen3090 plan {' '.join(arguments)}\n{text}\n```"


def _problems(output: str) -> str:
    return "...\n" + output[output.index("cannot run:") :]


def exit_codes_table() -> str:
    """Return one row an exit status of serve: meaning, whether it is started again, what to do."""
    rows = ["| status | it means | started again | next |", "|---:|---|---|---|"]
    for code, meaning in exit_codes.MEANING.items():
        again = "no" if code in exit_codes.PERMANENT or code == exit_codes.OK else "yes"
        rows.append(f"| {code} | {meaning} | {again} | {exit_codes.NEXT.get(code, '')} |")
    return "\n".join(rows)


def load_faults() -> str:
    """Return one row a scenario of checks/load, from what the last run of it wrote."""
    return report.markdown(report.read(ROOT / "docs/results/load-faults.txt"))


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "docs/guide/operate.md": {"exit-codes": exit_codes_table, "load-faults": load_faults},
    "README.md": {"profiles": profile_table},
    "docs/concepts/plan.md": {
        "plan": lambda: shown(["fast"]),
        "problem": lambda: shown(PROBLEM, _problems),
    },
}


def page(name: str) -> str:
    """Return a page with its parts made anew.

    Raises:
        SystemExit: the page has lost the marks of a part.
    """
    text = (ROOT / name).read_text(encoding="utf-8")
    for part, make in PARTS[name].items():
        start, end = f"<!-- made: {part} -->", f"<!-- end: {part} -->"
        marks = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
        made = f"{start}\n{make()}\n{end}"
        text, count = marks.subn(lambda _, new=made: new, text)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"{name}: expected one part between '{start}' and '{end}'")
    return text
