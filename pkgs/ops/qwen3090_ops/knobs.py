"""Reads our table of vLLM's additional_config: the one way a setting reaches code in the engine.

vLLM hashes additional_config into the key of its compile cache, so a knob that changes what is
compiled cannot meet a stale graph. The table is ``{"qwen3090": {"knob": value, ...}}``.
"""

from collections.abc import Collection
from typing import Any

TABLE = "qwen3090"


def knobs(additional_config: Any) -> dict[str, Any]:
    """Return our table, empty when there is none.

    Args:
        additional_config: ``VllmConfig.additional_config``: a dict, or an object of a platform.

    Raises:
        ValueError: the table is not a table.
    """
    ours = additional_config.get(TABLE, {}) if isinstance(additional_config, dict) else {}
    if not isinstance(ours, dict):
        raise ValueError(f"additional_config: '{TABLE}' must be a table, got {ours!r}")
    return ours


def switch(additional_config: Any, name: str, default: bool) -> bool:
    """Return the value of a knob that is true or false.

    Raises:
        ValueError: the value is no boolean, or the table is not a table.
    """
    value = knobs(additional_config).get(name, default)
    if not isinstance(value, bool):
        raise ValueError(
            f"additional_config: '{TABLE}.{name}' must be true or false, got {value!r}"
        )
    return value


def choice(additional_config: Any, name: str, allowed: Collection[str], default: str) -> str:
    """Return the value of a knob that is one of some words.

    Raises:
        ValueError: the value is none of them, or the table is not a table.
    """
    value = knobs(additional_config).get(name, default)
    if value not in allowed:
        raise ValueError(
            f"additional_config: '{TABLE}.{name}' must be one of {', '.join(allowed)}, "
            f"got {value!r}"
        )
    return str(value)


def count(additional_config: Any, name: str, default: int = 0) -> int:
    """Return the value of a knob that is a whole number of at least 0.

    Raises:
        ValueError: the value is not such a number, or the table is not a table.
    """
    value = knobs(additional_config).get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(
            f"additional_config: '{TABLE}.{name}' must be a whole number of at least 0, "
            f"got {value!r}"
        )
    return value
