"""How a setting's text becomes a value: booleans, sizes, lists; the same for all sources."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def parse_bool(value: object) -> bool:
    """Return a boolean; accepts true, false, 1 and 0 (any case), nothing else."""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError("expected true, false, 1 or 0")


def parse_bytes(value: object) -> int:
    """Return a number of bytes from an int or text such as ``5.2GiB`` or ``900 MB``."""
    if isinstance(value, bool):
        raise ValueError("expected a size, for example 5583457484 or 5.2GiB")
    if isinstance(value, int):
        return value
    match = _SIZE.fullmatch(str(value).strip().replace("_", ""))
    unit = match.group(2).lower() if match else "?"
    if match is None or unit not in _UNITS:
        raise ValueError("expected a size, for example 5583457484 or 5.2GiB")
    return int(float(match.group(1)) * _UNITS[unit]) if unit else int(match.group(1))


def reject_bool(value: object) -> object:
    """Refuse a boolean where a number is meant (Python would read true as 1)."""
    if isinstance(value, bool):
        raise ValueError("expected a number")
    return value


def none_word(value: object) -> object:
    """Return None for the word ``none``, which clears an optional setting."""
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def parse_list(value: object) -> object:
    """Return a list from a TOML list, a JSON list, or text split as a shell would."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    return json.loads(text) if text.startswith("[") else shlex.split(text)


def parse_table(value: object) -> object:
    """Return a table from a TOML table or a JSON object; its values become text."""
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, Mapping):
        raise ValueError('expected a table, for example {"NAME": "value"}')
    return {str(k): _variable(str(k), v) for k, v in value.items()}


def _variable(name: str, value: object) -> str:
    """Return the text of one environment variable; a boolean is 1 or 0, as programs read it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{name} must be text, a number or a boolean")


def parse_sizes(value: object) -> object:
    """Return graph sizes: one number (the largest) or a list of exact sizes."""
    value = reject_bool(value)
    return value if isinstance(value, str) and value.strip().isdigit() else parse_numbers(value)


def parse_numbers(value: object) -> object:
    """Return numbers from a list, or from text with commas or spaces between them."""
    if isinstance(value, str):
        parts: Any = parse_list(value.replace(",", " ") if "[" not in value else value)
        return tuple(parts)
    return value


Bool = Annotated[bool, BeforeValidator(parse_bool)]
Bytes = Annotated[int, BeforeValidator(parse_bytes)]
Int = Annotated[int, BeforeValidator(reject_bool)]
Float = Annotated[float, BeforeValidator(reject_bool)]
Words = Annotated[tuple[str, ...], BeforeValidator(parse_list)]
Table = Annotated[dict[str, str], BeforeValidator(parse_table)]
Optional = BeforeValidator(none_word)
