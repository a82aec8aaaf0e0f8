"""From profile, file, environment and --set to a PlanInput, by the server's own configuration.

Two settings exist for plans alone, to compare with what cannot be served: ``kv_groups`` and
the KV format ``kvarn_k4v2``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qwen3090.config.model import keys
from qwen3090.config.problems import ConfigError, Problem, nearest
from qwen3090.plan.formats import FORMATS, KVARN
from qwen3090.plan.inputs import GROUPINGS, PlanInput
from qwen3090.serve.plan_gate import plan_input

_PLAN_ONLY = ("kv_groups",)
_FORMAT_KEYS = ("kv_format", "drafter_kv_format")
_SERVED = ("bf16", "fp8", "int8", "int4")


@dataclass(frozen=True)
class Settings:
    """A plan's settings and where they come from.

    Attributes:
        profile: the profile's name.
        variant: which prepared checkpoint it serves, ``fast`` or ``base``.
        inputs: the settings of the pool.
        model, drafter: checkpoints that somebody named; None where the default would be served.
    """

    profile: str
    variant: str
    inputs: PlanInput
    model: Path | None
    drafter: Path | None


def plan_settings(
    profile: str | None,
    config_file: Path | None,
    sets: Sequence[str],
    resolve: Callable[..., Any],
) -> Settings:
    """Return the settings of a plan.

    Args:
        profile: name of a profile; None takes the default.
        config_file: TOML file with settings, or None.
        sets: ``key=value`` texts.
        resolve: ``qwen3090.config.resolve``.

    Raises:
        UserError: an unknown profile or key, or a value of the wrong type. Combinations that
            cannot run do not raise; the plan names them.
    """
    served: list[str] = []
    own: dict[str, Any] = {}
    for text in sets:
        key, _, value = (part.strip() for part in text.partition("="))
        if key in _PLAN_ONLY and not value:
            own.pop(key, None)
            continue
        _check_own(key, value)
        if key in _PLAN_ONLY or (key in _FORMAT_KEYS and value not in _SERVED and _known(value)):
            own[key] = value
        else:
            own.pop(key, None)
            served.append(text)
    resolved = resolve(profile, config_file=config_file, sets=served)
    inputs = plan_input(resolved.config)
    if own.get("kv_format") is not None:
        # The profile's backends belong to the format it had.
        own = {"drafter_kv_format": "bf16", **own}
        inputs = replace(inputs, attention_backend=None, drafter_backend=None)
    config, origins = resolved.config, resolved.origins
    return Settings(
        resolved.profile,
        config.variant,
        replace(inputs, **own),
        config.model if _named(origins["model"]) else None,
        config.drafter if _named(origins["drafter"]) else None,
    )


def _check_own(key: str, value: str) -> None:
    """Refuse a value or a near miss of the settings that only plans have."""
    if key == "kv_groups" and value not in GROUPINGS:
        raise ConfigError(
            [Problem(f"kv_groups = {value!r}", f"kv_groups = {' | '.join(GROUPINGS)}", "--set")]
        )
    if key not in keys() and nearest(key, (*keys(), *_PLAN_ONLY)) in _PLAN_ONLY:
        near = nearest(key, _PLAN_ONLY)
        if key != near:
            raise ConfigError(
                [Problem(f"unknown setting '{key}'", f"did you mean '{near}'?", "--set")]
            )


def _named(origin: str) -> bool:
    """Return whether a value was given, not derived from other settings."""
    return origin != "default" and not origin.startswith("from ")


def _known(value: str) -> bool:
    return value in FORMATS or value.startswith(KVARN)
