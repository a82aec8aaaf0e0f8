"""Prints a configuration: each setting, its value and where that came from; or the same as JSON."""

import json
from typing import Any

from qwen3090.config.resolve import Resolved


def flat(resolved: Resolved) -> dict[str, Any]:
    """Return every setting's value by key, JSON types only."""
    values = resolved.config.model_dump(mode="json")
    section = values.pop("engine")
    return values | {f"engine.{key}": value for key, value in section.items()}


def as_json(resolved: Resolved) -> str:
    """Return profile, settings with origins, problems and notes as JSON."""
    settings = {
        key: {"value": value, "from": resolved.origins.get(key, "default")}
        for key, value in flat(resolved).items()
    }
    document = {
        "profile": resolved.profile,
        "settings": settings,
        "problems": [str(item) for item in resolved.problems],
        "notes": [str(item) for item in resolved.notes],
    }
    return json.dumps(document, indent=2)


def as_text(resolved: Resolved) -> str:
    """Return an aligned table: key, value, source."""
    rows = [
        (key, _text(value), resolved.origins.get(key, "default"))
        for key, value in flat(resolved).items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"profile {resolved.profile}"]
    lines += [f"  {key:<{widths[0]}}  {value:<{widths[1]}}  {where}" for key, value, where in rows]
    lines += [f"note: {note}" for note in resolved.notes]
    return "\n".join(lines)


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)
