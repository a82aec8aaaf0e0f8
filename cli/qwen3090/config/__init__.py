"""Settings of one server: profiles, files, environment and --set, resolved and checked."""

from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import ConfigError, Problem
from qwen3090.config.profiles import load_profile, profile_names, unavailable
from qwen3090.config.resolve import Resolved, resolve

__all__ = [
    "ConfigError",
    "Problem",
    "Resolved",
    "ServeConfig",
    "load_profile",
    "profile_names",
    "resolve",
    "unavailable",
]
