"""config.json's quantization_config: which scheme the engine picks for a module, and our edits.

The engine walks the targets of all groups in file order and takes the first that equals the
module's name or matches it as a regex; only then does it try the class name (``Linear``). So
``re:.*lm_head$`` (group_1) also decides ``mtp.draft_lm_head``, before ``re:^mtp\\..*`` (group_3)
is tried: the draft head always has the head's bits, as a slice of it must.
"""

import copy
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from qwen3090_prepare.errors import PrepareError

Json = dict[str, Any]
GROUPS = {"head": "re:.*lm_head$", "embed": "re:.*embed_tokens$", "mtp": r"re:^mtp\..*"}


def matches(target: str, module: str) -> bool:
    """Whether a target or ignore entry names the module, as the engine decides it."""
    if target.startswith("re:"):
        return re.match(target[3:], module) is not None
    return target == module


def quantization(config: Json) -> Json:
    """Return the quantization section ({} when there is none); refuse other methods."""
    section = config.get("quantization_config") or {}
    method = section.get("quant_method", "compressed-tensors")
    if method != "compressed-tensors":
        raise PrepareError(
            f"config.json: quant_method '{method}', only 'compressed-tensors' can be prepared"
        )
    return dict(section)


def resolve_bits(config: Json, module: str, *, linear: bool) -> int | None:
    """Return the bits the engine will expect for a module, or None for an unquantized one.

    Args:
        config: the whole config.json.
        module: the module's name in the checkpoint.
        linear: True for a plain linear layer, which the class target ``Linear`` also matches.
    """
    section = quantization(config)
    if any(matches(entry, module) for entry in section.get("ignore") or []):
        return None
    pairs = [
        (target, int(group["weights"]["num_bits"]))
        for group in (section.get("config_groups") or {}).values()
        for target in group["targets"]
    ]
    for target, bits in pairs:
        if matches(target, module):
            return bits
    if linear:
        return next((bits for target, bits in pairs if target == "Linear"), None)
    return None


def group(target: str, bits: int) -> Json:
    """Return a config group: symmetric integer weights, group 128, pack-quantized."""
    return {
        "format": "pack-quantized",
        "input_activations": None,
        "output_activations": None,
        "targets": [target],
        "weights": {
            "actorder": None,
            "block_structure": None,
            "dynamic": False,
            "group_size": 128,
            "num_bits": bits,
            "observer": "memoryless_minmax",
            "observer_kwargs": {},
            "scale_dtype": None,
            "strategy": "group",
            "symmetric": True,
            "type": "int",
            "zp_dtype": None,
        },
    }


def edit(
    config: Json,
    bits: Mapping[str, int],
    packed: Iterable[str],
    plain: Iterable[str],
    others: Iterable[str],
) -> Json:
    """Return config.json's content for a prepared checkpoint; ``config`` is left alone.

    Args:
        config: the base's config.json.
        bits: bits by part ("head", "embed", "mtp") for the parts that are packed.
        packed: names of the modules of those parts (draft head included).
        plain: names of MTP linears that stay bf16; they join ``ignore``.
        others: every other module; an ignore regex that also covers one of these is kept.
    """
    result = copy.deepcopy(config)
    section = result.setdefault("quantization_config", {}) or _empty_section()
    result["quantization_config"] = section
    for key, value in _empty_section().items():
        if section.get(key) is None:
            section[key] = value
    packed, others, groups = set(packed), set(others), section["config_groups"]
    for part, target in GROUPS.items():
        if part in bits:
            held = [name for name, value in groups.items() if target in value["targets"]]
            name = held[0] if held else _free_name(groups, part)
            groups.pop(name, None)  # our groups stand last, in this order: the first match wins
            groups[name] = group(target, bits[part])
    keep = []
    for entry in section["ignore"]:
        covers_packed = any(matches(entry, module) for module in packed)
        if not covers_packed or any(matches(entry, module) for module in others):
            keep.append(entry)
    keep += [name for name in plain if not any(matches(entry, name) for entry in keep)]
    section["ignore"] = keep
    return result


def _free_name(groups: Json, part: str) -> str:
    preferred = 1 + list(GROUPS).index(part)
    taken = set(groups)
    number = preferred if f"group_{preferred}" not in taken else len(taken)
    while f"group_{number}" in taken:
        number += 1
    return f"group_{number}"


def _empty_section() -> Json:
    return {
        "config_groups": {},
        "format": "pack-quantized",
        "global_compression_ratio": None,
        "ignore": [],
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
    }


def dump(config: Json) -> bytes:
    """Serialize as the published prepared configs are: indent 2, no trailing newline."""
    return json.dumps(config, indent=2).encode()
