"""The settings as data (nix/settings.json), so that the NixOS module repeats no name or type."""

import json
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from qwen3090.config.model import EngineSection, ServeConfig
from qwen3090.config.values import parse_bytes
from qwen3090.serve import exit_codes

REFRESH = "qwen3090 config schema > nix/settings.json"
_ABOUT = f"Generated from cli/qwen3090/config/model.py: {REFRESH}"
_NAMES = {"int": "int", "float": "float", "str": "text", "bool": "bool", "Path": "path"}


def schema_text() -> str:
    """Return nix/settings.json: the settings with type and default, and serve's exit statuses."""
    data = {
        "about": _ABOUT,
        "exit_statuses": {str(code): text for code, text in exit_codes.MEANING.items()},
        "permanent_exit_statuses": sorted(exit_codes.PERMANENT),
        "settings": {entry.pop("name"): entry for entry in _entries(ServeConfig)},
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _entries(model: type[BaseModel], prefix: str = "") -> Iterator[dict[str, Any]]:
    for name, info in model.model_fields.items():
        if info.annotation is EngineSection:
            yield from _entries(EngineSection, f"{name}.")
            continue
        default = info.get_default(call_default_factory=True, validated_data={})
        entry: dict[str, Any] = {"name": prefix + name, **_type(info)}
        if default is not None and default not in ((), {}):
            entry["default"] = default
        yield entry | {"description": info.description or ""}


def _type(info: FieldInfo) -> dict[str, Any]:
    kind = _kind(info.annotation)
    if kind["type"] == "int" and _is_size(info):
        kind = {"type": "bytes"}
    limits = {
        word: getattr(item, word)
        for item in info.metadata
        for word in ("ge", "gt", "le", "lt")
        if getattr(item, word, None) is not None
    }
    return kind | limits


def _is_size(info: FieldInfo) -> bool:
    """Return whether text such as 5.2GiB is accepted."""
    found = list(info.metadata)
    pending = [info.annotation]
    while pending:
        annotation = pending.pop()
        found += getattr(annotation, "__metadata__", ())
        pending += [item for item in typing.get_args(annotation) if typing.get_args(item)]
    return any(getattr(item, "func", None) is parse_bytes for item in found)


def _kind(annotation: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin is typing.Literal:
        return {"type": "enum", "choices": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        kinds = [_kind(item) for item in arguments if item is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"type": "either", "of": kinds}
    if origin is tuple:
        return {"type": "list", "of": _kind(arguments[0])}
    if origin is dict:
        return {"type": "table"}
    return {"type": _NAMES[annotation.__name__]}
