"""JSON to TOML for the stand-in; nixpkgs has remarshal for it. A JSON text is a TOML text too."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any


def lines(table: dict[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """Return a table's lines: its own values first, then its sub-tables."""
    found = [f"{text(k)} = {text(v)}" for k, v in table.items() if not is_table(v)]
    for key, value in table.items():
        if is_table(value):
            here = (*path, key)
            found += [f"[{'.'.join(map(text, here))}]", *lines(value, here)]
    return found


def text(value: object) -> str:
    """Return a value that is no table as TOML."""
    return json.dumps(value, ensure_ascii=False)


def is_table(value: object) -> bool:
    """Return whether TOML writes it under a heading of its own."""
    return isinstance(value, dict)


data = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
document = "\n".join(lines(data)) + "\n"
assert tomllib.loads(document) == data
sys.stdout.write(document)
