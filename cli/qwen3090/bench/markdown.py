"""A run as Markdown: a table a suite, acceptance by position, published figures, conditions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from qwen3090.bench import published
from qwen3090.bench.conditions import UNKNOWN
from qwen3090.bench.quantities import QUANTITIES
from qwen3090.bench.target import worker_of

NONE = "–"


def render(run: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """Return the page of a run.

    Args:
        run: what ``report.document`` returns.
        pictures: file name of the picture by suite.
    """
    found = run["conditions"]
    parts = [f"# qwen3090 bench, {found['date']}\n\n{headline(found)}\n"]
    parts += [_suite(suite, pictures.get(suite["suite"])) for suite in run["suites"]]
    parts.append(_meanings(run["suites"]))
    parts.append(_conditions(found, run["fingerprint"]))
    return "\n".join(parts)


def headline(found: Mapping[str, Any]) -> str:
    """Return the conditions that no number may go without, in one sentence."""
    card = found["machine"]["card"]
    if isinstance(card, dict):
        where = f"{card['name']}, power limit {card['power.limit']} W"
    else:
        where = f"no GPU ({found['machine']['cpu']})"
    return (
        f"Profile {found['profile']}, vLLM {found['server']['vllm']}, series "
        f"{served_series(found)[:12]}, on {where}."
    )


def served_series(found: Mapping[str, Any]) -> str:
    """Return the hash of the series that the engine runs, by its own word, else by this tree."""
    told = worker_of(found["server"]["engine"]).get("series", {}).get("hash")
    return str(told or found["series"]["installed"])


def _suite(suite: Mapping[str, Any], picture: str | None) -> str:
    counted = "rounds" if suite["suite"] == "ladder" else "requests"
    lines = [
        f"## {suite['suite']}\n",
        f"{suite['about']} Warm-up {counted} left out: {suite['warmups']}; measurements of each: "
        f"{suite['repeats']}. Cells: median (minimum to maximum, coefficient of variation).\n",
        table(suite),
    ]
    if acceptance := _acceptance(suite["rows"]):
        lines.append(acceptance)
    if preempted := [f"{r['name']}: {r['preemptions']}" for r in suite["rows"] if r["preemptions"]]:
        lines.append(f"Preemptions (requests that ran out of memory): {', '.join(preempted)}\n")
    lines += [f"- {note}" for note in suite["notes"]] + [""]
    if picture:
        lines.append(f"![{suite['suite']}]({picture})\n")
    if figures := published.table(suite["suite"]):
        lines.append(figures)
    return "\n".join(lines)


def table(suite: Mapping[str, Any]) -> str:
    """Return a suite's table: a line a row, a column a quantity."""
    shown = [key for key in suite["shows"] if any(key in r["summary"] for r in suite["rows"])]
    heads = [suite["axis"] or "what", *(QUANTITIES[key].title for key in shown)]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * len(shown) + "|"]
    for row in suite["rows"]:
        cells = [cell(key, row["summary"].get(key)) for key in shown]
        lines.append("| " + " | ".join([row["name"], *cells]) + " |")
    return "\n".join(lines) + "\n"


def cell(key: str, summary: Mapping[str, Any] | None) -> str:
    """Return one quantity: its median, and its spread when there is one."""
    if summary is None:
        return NONE
    digits = QUANTITIES[key].digits
    text = f"{summary['median']:,.{digits}f}"
    if summary["n"] == 1 or summary["min"] == summary["max"]:
        return text
    spread = f"{summary['min']:,.{digits}f} to {summary['max']:,.{digits}f}"
    cv = summary["cv"]
    return f"{text} ({spread}{'' if cv is None else f', {cv:.1%}'})"


def _acceptance(rows: Sequence[Mapping[str, Any]]) -> str:
    longest = max((len(row["acceptance"]) for row in rows), default=0)
    if not longest:
        return ""
    places = [str(place + 1) for place in range(longest)]
    lines = ["Share of steps whose draft was accepted up to each place:\n"]
    lines.append("| what | " + " | ".join(places) + " |")
    lines.append("|---" + "|---:" * longest + "|")
    for row in rows:
        shares = [f"{share:.0%}" for share in row["acceptance"]]
        shares += [NONE] * (longest - len(shares))
        lines.append("| " + " | ".join([row["name"], *shares]) + " |")
    return "\n".join(lines) + "\n"


def _meanings(suites: Sequence[Mapping[str, Any]]) -> str:
    keys = dict.fromkeys(key for suite in suites for key in suite["shows"])
    lines = ["## What the columns mean\n"]
    lines += [f"- {QUANTITIES[key].title}: {QUANTITIES[key].meaning}" for key in keys]
    return "\n".join(lines) + "\n"


def _conditions(found: Mapping[str, Any], fingerprint: Mapping[str, str]) -> str:
    lines = ["## Conditions\n", "| what | value |", "|---|---|"]
    shown = {key: value for key, value in found.items() if key not in ("settings", "server")}
    shown |= {f"server's {key}": value for key, value in found["server"].items()}
    engine = worker_of(shown.pop("server's engine"))
    for part in ("machine", "settings", "pool"):
        shown[f"engine's {part}"] = engine.get(part, f"{UNKNOWN}: no GET /qwen3090/engine")
    lines += [f"| {key} | {_plain(value)} |" for key, value in shown.items()]
    hashes = ", ".join(f"{kind} `{value}`" for kind, value in fingerprint.items())
    lines.append(f"| fingerprint | {hashes} |")
    lines.append("\nSettings of the profile, as resolved where the bench ran:\n")
    lines.append("```json\n" + json.dumps(found["settings"], indent=1) + "\n```")
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    return str(value).replace("|", "\\|").replace("\n", " ")
