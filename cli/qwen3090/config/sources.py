"""The four places a setting comes from, read into layers that remember file and line.

Lowest first: profile, configuration file, environment (``QWEN3090_<KEY>``), ``--set key=value``.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen3090.config.model import keys
from qwen3090.config.problems import ConfigError, Problem, nearest

PREFIX = "QWEN3090_"
# Variables with our prefix that are no settings: they belong to other parts of the project.
NOT_SETTINGS = frozenset(
    {
        "QWEN3090_API",
        "QWEN3090_API_KEYS",
        "QWEN3090_DEVICE_ROOT",
        "QWEN3090_RUNTIME_DIR",
        "QWEN3090_TINY_TRAINED",
        "QWEN3090_STATE",
        "QWEN3090_UPDATE_GOLDEN",
        "QWEN3090_VLLM_TREE",
    }
)
PATHS = frozenset({"model", "drafter", "api_key_file"})


@dataclass(frozen=True)
class Given:
    """A value as it was written, and where."""

    value: Any
    where: str


@dataclass
class Layer:
    """The settings of one source; ``profile`` is the profile it names, if any."""

    name: str
    values: dict[str, Given] = field(default_factory=dict)
    profile: Given | None = None
    problems: list[Problem] = field(default_factory=list)

    def put(self, key: str, value: Any, where: str) -> None:
        """Add a setting; an empty string is unset, an unknown key is a problem."""
        if key not in ("profile", *keys()):
            near = nearest(key, ("profile", *keys()))
            hint = f"did you mean '{near}'?" if near else "qwen3090 config reference"
            self.problems.append(Problem(f"unknown setting '{key}'", hint, where))
        elif isinstance(value, str) and not value.strip():
            return
        elif key == "profile":
            self.profile = Given(str(value), where)
        elif key in PATHS and isinstance(value, str):
            self.values[key] = Given(_home(value.strip()), where)
        else:
            self.values[key] = Given(value, where)


def _home(path: str) -> str:
    """Return a path with ``~`` written out: shells leave it in ``--set model=~/x``."""
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError:  # no such user
        return path


def from_table(name: str, table: Mapping[str, Any], where: str) -> Layer:
    """Return the layer of an in-memory table, such as a profile."""
    layer = Layer(name)
    for key, value in _flatten(table):
        layer.put(key, value, where)
    return layer


def from_file(path: Path) -> Layer:
    """Return the layer of a TOML file; relative paths in it are relative to the file.

    Raises:
        ConfigError: the file is missing, unreadable or no TOML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # Windows editors write a mark at the start
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            [Problem(f"{path}: cannot be read: {reason}", f"ls -l {path}")]
        ) from error
    except tomllib.TOMLDecodeError as error:
        problem = Problem(f"{path}: not valid TOML: {error}", "mend the line named above")
        raise ConfigError([problem]) from error
    layer = Layer("file")
    for key, value in _flatten(table):
        if key in PATHS and isinstance(value, str) and value.strip():
            value = str(path.parent / _home(value.strip()))
        layer.put(key, value, _where(path, text, key))
    return layer


def from_environment(environ: Mapping[str, str]) -> Layer:
    """Return the layer of the ``QWEN3090_`` variables; an unknown one is a problem."""
    names = {PREFIX + key.replace(".", "_").upper(): key for key in ("profile", *keys())}
    layer = Layer("environment")
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable in names:
            layer.put(names[variable], environ[variable], variable)
            continue
        near = nearest(variable, (*names, *sorted(NOT_SETTINGS)))
        hint = f"did you mean {near}?" if near else f"unset {variable}"
        layer.problems.append(Problem(f"unknown environment variable {variable}", hint))
    return layer


def from_sets(assignments: Iterable[str]) -> Layer:
    """Return the layer of ``--set key=value`` options, the last of a key winning."""
    layer = Layer("--set")
    for text in assignments:
        key, separator, value = text.partition("=")
        if not separator:
            layer.problems.append(Problem(f"--set {text}: no '='", f"--set {text}=VALUE"))
            continue
        layer.values.pop(key.strip(), None)
        layer.put(key.strip(), value.strip(), "--set")
    return layer


def _flatten(table: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield key and value; the ``engine`` table becomes ``engine.command`` and its like."""
    for key, value in table.items():
        if key == "engine" and isinstance(value, Mapping):
            yield from ((f"engine.{name}", item) for name, item in value.items())
        else:
            yield key, value


def _where(path: Path, text: str, key: str) -> str:
    """Return ``file:line`` of a key, or the file when the line is not found."""
    last = re.escape(key.rsplit(".", 1)[-1])
    pattern = re.compile(rf"\s*\[*(?:engine\.)?[\"']?{last}[\"']?\s*[=\].]")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.match(line):
            return f"{path}:{number}"
    return str(path)
