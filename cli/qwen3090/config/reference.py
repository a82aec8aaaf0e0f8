"""The settings reference as Markdown, generated from model.py so that it cannot drift."""

import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from qwen3090.config.model import EngineSection, ServeConfig
from qwen3090.config.profiles import PROFILES_FILE, load_profile, profile_names, unavailable
from qwen3090.config.sources import NOT_SETTINGS
from qwen3090.serve.exit_codes import MEANING

REFRESH = "qwen3090 config reference > docs/reference/settings.md"
_HEAD = f"""<!-- Generated: {REFRESH} -->
# Settings

A setting has one name everywhere. Sources, the later winning:

1. the profile (`qwen3090 serve PROFILE`; else `QWEN3090_PROFILE`, the file's `profile`, or `fast`),
2. the configuration file (`--config FILE`, TOML: `profile = "fast"` and settings; paths are
   relative to the file),
3. the environment: `QWEN3090_` and the key in capitals, `.` as `_` (`QWEN3090_ENGINE_COMMAND`),
4. `--set key=value`, the last of a key winning.

Booleans are `true`, `false`, `1` or `0`. Sizes are bytes or `5.2GiB`, `900MB`. An empty string is
unset: the next lower source counts. `none` clears a setting that may be unset. Lists and tables are
TOML in a file, elsewhere JSON or words split as a shell would. Unknown keys and variables are
errors. A setting that belongs to another one gives way when a higher source changes that one:
`draft_tokens` to `speculation`, `attention_backend` to `kv_format`, `drafter_kv_format` to both,
`drafter_attention_backend` to `drafter_kv_format`, `model` to `variant`.

`qwen3090 config check FILE` checks a file, `qwen3090 config show` prints the effective settings and
where each comes from.

| setting | type | default | meaning |
|---|---|---|---|
"""


def settings_page() -> str:
    """Return docs/reference/settings.md."""
    rows = "\n".join(_rows(ServeConfig))
    profiles = "\n".join(f"| `{name}` | {load_profile(name).summary} |" for name in profile_names())
    missing = "\n".join(f"| `{name}` | {reason} |" for name, reason in unavailable().items())
    codes = "\n".join(f"| {code} | {text} |" for code, text in MEANING.items())
    others = ", ".join(f"`{name}`" for name in sorted(NOT_SETTINGS))
    return (
        f"{_HEAD}{rows}\n\n"
        f"## Profiles\n\nValues and their reasons: `cli/qwen3090/{PROFILES_FILE.name}`.\n\n"
        f"| profile | what it is for |\n|---|---|\n{profiles}\n\n"
        f"Not available yet:\n\n| name | why |\n|---|---|\n{missing}\n\n"
        f"## Exit status of serve\n\n| status | meaning |\n|---|---|\n{codes}\n\n"
        f"## Variables that are no settings\n\n{others}: read by other parts of the project.\n"
    )


def _rows(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        if info.annotation is EngineSection:
            yield from _rows(EngineSection, f"{name}.")
            continue
        text = (info.description or "").replace("|", "\\|")
        yield f"| `{prefix}{name}` | {_type(info)} | {_default(info)} | {text} |"


def _type(info: FieldInfo) -> str:
    limits = _limits(info)
    return _name(info.annotation) + (f", {limits}" if limits else "")


def _name(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _name(arguments[0])
    if origin is typing.Literal:
        return ", ".join(f"`{item}`" for item in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_name(item) for item in arguments if item is not type(None))
    if origin is tuple:
        return f"list of {_name(arguments[0])}"
    if origin is dict:
        return "table"
    names = {"int": "number", "float": "number", "str": "text", "bool": "boolean", "Path": "path"}
    return names[annotation.__name__]


def _limits(info: FieldInfo) -> str:
    words = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    found = [
        f"{sign} {getattr(item, word)}"
        for item in info.metadata
        for word, sign in words.items()
        if getattr(item, word, None) is not None
    ]
    return ", ".join(found)


def _default(info: FieldInfo) -> str:
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None or value in ((), {}):
        return "unset"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
