"""Shows what would be started: text to paste into a shell, or JSON. No API key is read."""

import json
import shlex

from qwen3090.config.model import ServeConfig
from qwen3090.config.resolve import Resolved
from qwen3090.config.show import flat
from qwen3090.serve.render import FOREIGN, Launch, draft_ranges


def as_shell(launch: Launch) -> str:
    """Return one ``env`` command, a flag a line.

    A key that came as a variable stands before ``env``: an assignment of the shell's is never in
    an argument list.
    """
    lines = ["".join(f'{name}="${source}" ' for name, source in launch.copied.items()) + "env"]
    lines += [f"-u {shlex.quote(name)}" for name in launch.removed]
    lines += [f"{name}={shlex.quote(value)}" for name, value in launch.environment.items()]
    lines += _flag_lines(launch.argv)
    return " \\\n  ".join(lines)


def _flag_lines(argv: tuple[str, ...]) -> list[str]:
    """Return the words quoted: the command on one line, then each flag with its value."""
    lines: list[str] = []
    for word in argv:
        if not lines or word.startswith("--"):
            lines.append(shlex.quote(word))
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return lines


def as_json(resolved: Resolved, launch: Launch) -> str:
    """Return profile, arguments, environment and settings as JSON."""
    environment = dict(launch.environment)
    environment |= {name: f"<from {source}>" for name, source in launch.copied.items()}
    document = {
        "profile": resolved.profile,
        "argv": list(launch.argv),
        "environment": environment,
        "removed": list(launch.removed),
        "settings": flat(resolved),
        "notes": [str(note) for note in resolved.notes],
    }
    return json.dumps(document, indent=2)


def _drafts(c: ServeConfig) -> str:
    """Return the drafts of a step: ``4``, or ``4, 3 from 4 requests on``."""
    (_, _, first), *rest = draft_ranges(c)
    return ", ".join([str(first), *(f"{k} from {n} requests on" for n, _, k in rest)])


def choices(resolved: Resolved, launch: Launch, has_key: bool) -> list[str]:
    """Return the lines that ``serve`` prints first: what it chose, and what it leaves out."""
    c = resolved.config
    k = f" k={_drafts(c)} ({c.draft_sampling})" if c.speculation != "none" else ""
    backend = c.attention_backend if c.device == "cuda" else "CPU"
    graphs = f"graphs up to {c.graph_sizes} tokens" if c.graph_sizes else "no graphs"
    lines = [
        f"profile {resolved.profile}: {c.context:,} tokens, {c.seats} seats on {c.device}",
        f"model {c.model}" + (f", drafter {c.drafter}" if c.speculation == "dflash2" else ""),
        f"{c.speculation}{k}, {c.kv_format} KV by {backend}"
        f", {c.state_dtype} state, prefix caching {'on' if c.prefix_cache else 'off'}"
        f", runner {c.runner}, {graphs}",
        f"API key: {'required' if has_key else 'none (loopback only)'}",
    ]
    if launch.removed:
        used = launch.copied.values()
        foreign = ("VLLM_", *FOREIGN)
        ignored = [n for n in launch.removed if n.startswith(foreign) and n not in used]
        if ignored:
            lines.append(f"ignored: {', '.join(ignored)} (set what the engine needs in engine.env)")
    return lines + [f"note: {note}" for note in resolved.notes]
