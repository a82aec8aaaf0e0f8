"""config.json's form, checked once on reading: all other code may then rely on its types."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SCHEME = {"group_size": 128, "strategy": "group", "symmetric": True, "type": "int"}
_NEEDED = ("hidden_size", "vocab_size", "num_hidden_layers")
# Numbers of the language model, with the largest value that is not damage.
_NUMBERS = {
    "hidden_size": 1 << 20,
    "vocab_size": 1 << 24,
    "intermediate_size": 1 << 24,
    "num_hidden_layers": 4096,
    "mtp_num_hidden_layers": 64,
    "num_attention_heads": 1 << 16,
    "num_key_value_heads": 1 << 16,
    "head_dim": 1 << 16,
}


def config_problem(config: Mapping[str, Any]) -> str | None:
    """Return the first thing that is wrong with the form of a config.json, or None."""
    return next(_problems(config), None)


def _problems(config: Mapping[str, Any]) -> Iterator[str]:
    text = config.get("text_config")
    if text is not None and not isinstance(text, dict):
        yield f"'text_config' is {_kind(text)}, not an object"
        return
    text = text or config
    for key, largest in _NUMBERS.items():
        value, least = text.get(key), int(key in _NEEDED)
        if value is None and not least:
            continue
        if type(value) is not int or not least <= value <= largest:
            yield f"'{key}' is {_kind(value)}, not a whole number from {least} to {largest}"
    kinds = text.get("layer_types")
    if kinds is not None and not _strings(kinds):
        yield f"'layer_types' is {_kind(kinds)}, not a list of names"
    section = config.get("quantization_config")
    if section is not None and not isinstance(section, dict):
        yield f"'quantization_config' is {_kind(section)}, not an object"
    elif section:
        yield from _quantization(section)


def _quantization(section: Mapping[str, Any]) -> Iterator[str]:
    method = section.get("quant_method", "compressed-tensors")
    if method != "compressed-tensors":
        yield f"quant_method {_kind(method)}, only 'compressed-tensors' can be prepared"
        return
    if section.get("format", "pack-quantized") != "pack-quantized":
        yield f"format {_kind(section['format'])}, only 'pack-quantized' can be prepared"
    yield from _names("ignore", [] if section.get("ignore") is None else section["ignore"])
    groups = section.get("config_groups")
    if groups is not None and not isinstance(groups, dict):
        yield f"'config_groups' is {_kind(groups)}, not an object"
        return
    for name, group in (groups or {}).items():
        weights = group.get("weights") if isinstance(group, dict) else None
        if not isinstance(weights, dict):
            yield f"config group '{name}' has no object 'weights'"
            return
        bits = weights.get("num_bits")
        if type(bits) is not int or not 1 <= bits <= 16:
            yield f"'num_bits' of config group '{name}' is {_kind(bits)}, not a number of bits"
        for key, wanted in _SCHEME.items():
            if weights.get(key, wanted) != wanted:
                yield f"'{key}' of config group '{name}' is {_kind(weights[key])}, not {wanted!r}"
        yield from _names(f"targets of config group '{name}'", group.get("targets"))


def _names(what: str, entries: Any) -> Iterator[str]:
    if not _strings(entries):
        yield f"'{what}' is {_kind(entries)}, not a list of module names"
        return
    for entry in entries:
        if entry.startswith("re:"):
            try:
                re.compile(entry[3:])
            except re.error as error:
                yield f"'{what}': '{entry}' is not a regular expression: {error}"


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _kind(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."
