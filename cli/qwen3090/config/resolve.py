"""From profile, file, environment and --set to one ServeConfig, with the source of every value."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from qwen3090.config import derive, rules
from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import ConfigError, Found, Problem
from qwen3090.config.profiles import DEFAULT_PROFILE, load_profile, profile_names, unknown_profile
from qwen3090.config.sources import (
    Given,
    Layer,
    from_environment,
    from_file,
    from_sets,
    from_table,
)


@dataclass(frozen=True)
class Resolved:
    """A configuration with its origins.

    Attributes:
        profile: the profile's name.
        config: the typed settings; dependent defaults are filled in.
        origins: where each value came from, by key ("default" when nobody set it).
        problems: what forbids serving it.
        notes: what is allowed and worth knowing.
    """

    profile: str
    config: ServeConfig
    origins: Mapping[str, str]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]

    def require(self) -> ServeConfig:
        """Return the settings, or raise ConfigError with every problem."""
        if self.problems:
            raise ConfigError(self.problems)
        return self.config


def resolve(
    profile: str | None = None,
    *,
    config_file: Path | None = None,
    sets: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    """Read all sources and return the settings with their problems.

    Args:
        profile: name given on the command line; else QWEN3090_PROFILE, the file's, or ``fast``.
        config_file: TOML file with ``profile`` and settings.
        sets: ``key=value`` texts.
        environ: environment to read; the process's own by default.

    Raises:
        ConfigError: a value has the wrong type, a key or profile is unknown, a file is unreadable.
            All such problems are reported at once. Combinations that cannot run do not raise:
            they are ``Resolved.problems``.
    """
    layers = [from_file(config_file)] if config_file else []
    layers.append(from_environment(os.environ if environ is None else environ))
    layers.append(from_sets(sets))
    problems = [problem for layer in layers for problem in layer.problems]
    named = Given(profile, "") if profile else _profile_of(layers)
    base = Layer("profile")
    if named.value in profile_names():
        base = from_table("profile", load_profile(named.value).values, f"profile {named.value}")
    else:
        problems.append(unknown_profile(str(named.value), named.where))
    merged = derive.merge([base, *layers])
    values, origins, typed = _typed(merged)
    problems += typed
    if problems:
        raise ConfigError(problems)
    origins |= derive.fill(values)
    config = ServeConfig.model_validate(_nest(values))
    found = [_located(item, origins) for item in rules.problems(config)]
    notes = [_located(item, origins) for item in rules.notes(config)]
    return Resolved(str(named.value), config, origins, tuple(found), tuple(notes))


def _profile_of(layers: Iterable[Layer]) -> Given:
    """Return the profile that the highest layer names, or the default."""
    named = Given(DEFAULT_PROFILE, "")
    for layer in layers:
        named = layer.profile or named
    return named


def _typed(merged: Mapping[str, Given]) -> tuple[dict[str, Any], dict[str, str], list[Problem]]:
    """Validate each value's type; return flat typed values, origins and problems."""
    raw = {key: given.value for key, given in merged.items()}
    problems: list[Problem] = []
    try:
        config = ServeConfig.model_validate(_nest(raw))
    except ValidationError as error:
        for item in error.errors():
            problems.append(_type_problem(item, merged))
        return {}, {}, problems
    values: dict[str, Any] = {name: getattr(config, name) for name in ServeConfig.model_fields}
    section = values.pop("engine")
    values |= {f"engine.{name}": getattr(section, name) for name in type(section).model_fields}
    origins = {key: merged[key].where if key in merged else "default" for key in values}
    return values, origins, problems


def _type_problem(item: Any, merged: Mapping[str, Given]) -> Problem:
    path = [str(part) for part in item["loc"]]
    key = ".".join(path[:2]) if path[0] == "engine" and len(path) > 1 else path[0]
    given = merged.get(key, Given(item.get("input"), ""))
    message = str(item["msg"]).removeprefix("Value error, ")
    return Problem(
        f"{key} = {given.value!r}: {message[:1].lower()}{message[1:]}", allowed(key), given.where
    )


def allowed(key: str) -> str:
    """Return the hint for a key: its choices, or where it is described."""
    info = ServeConfig.model_fields.get(key)
    choices = _choices(info.annotation) if info else ()
    return f"{key} = {' | '.join(choices)}" if choices else "qwen3090 config reference"


def _choices(annotation: Any) -> tuple[str, ...]:
    arguments = get_args(annotation)
    if arguments and all(isinstance(item, str) for item in arguments):
        return tuple(arguments)
    return next((found for item in arguments if (found := _choices(item))), ())


def _nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nested form: ``engine.command`` goes into the ``engine`` table."""
    nested: dict[str, Any] = {"engine": {}}
    for key, value in values.items():
        head, dot, tail = key.partition(".")
        if dot:
            nested["engine"][tail] = value
        else:
            nested[head] = value
    return nested


def _located(found: Found, origins: Mapping[str, str]) -> Problem:
    """Attach the sources of the settings a rule names, the built-in ones left out."""
    sources = dict.fromkeys(origins.get(key, "") for key in found.keys)
    where = ", ".join(
        item for item in sources if item and item != "default" and not item.startswith("from ")
    )
    return Problem(found.text, found.next_step, where)
