"""Profiles are data: reads profiles.toml and explains a name that is not there."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from qwen3090.config.problems import ConfigError, Problem, nearest

PROFILES_FILE = Path(__file__).resolve().parent.parent / "profiles.toml"
DEFAULT_PROFILE = "fast"


@dataclass(frozen=True)
class Profile:
    """One named serving configuration: ``values`` by setting key."""

    name: str
    summary: str
    values: Mapping[str, Any]


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(PROFILES_FILE.read_text(encoding="utf-8"))


def unavailable() -> dict[str, str]:
    """Return the reason by name for profiles that cannot run yet."""
    return dict(_tables().get("unavailable", {}))


def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles that can run, in file order."""
    return tuple(_tables()["profile"])


def load_profile(name: str, where: str = "") -> Profile:
    """Return a profile.

    Raises:
        ConfigError: no such profile, or one that cannot run yet (with the reason).
    """
    table = _tables()["profile"].get(name)
    if table is None:
        raise ConfigError([unknown_profile(name, where)])
    values = dict(table)
    return Profile(name, values.pop("summary"), values)


def unknown_profile(name: str, where: str = "") -> Problem:
    """Return the problem for a name that is no profile: not yet available, or misspelt."""
    if reason := unavailable().get(name):
        text = f"profile '{name}' is not available: {reason}"
        return Problem(text, "qwen3090 config profiles", where)
    near = nearest(name, (*profile_names(), *unavailable()))
    hint = f" (did you mean '{near}'?)" if near else ""
    return Problem(f"no profile '{name}'{hint}", "qwen3090 config profiles", where)
