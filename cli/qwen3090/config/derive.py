"""Defaults that depend on other settings, written out so that nothing reaches vLLM implicitly.

A setting of a lower source gives way when a higher source changes what it belonged to: with
``--set speculation=mtp`` the profile's draft_tokens of dflash2 no longer count.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from qwen3090 import state
from qwen3090.config.model import ServeConfig
from qwen3090.config.sources import Given, Layer
from qwen3090.plan.graphs import graph_bytes, most_tokens, step_lengths
from qwen3090.wsl import on_wsl

DRAFT_TOKENS = {"dflash2": 7, "mtp": 3, "none": 0}
BACKENDS = {"bf16": "FLASH_ATTN", "fp8": "FLASHINFER", "int8": "TRITON_ATTN", "int4": "TRITON_ATTN"}
# Model's format -> that of a dflash2 drafter beside it, with which pages are filled, prefixes hit
# often and the plan has nothing to refuse.
DRAFTER_FORMATS = {"bf16": "bf16", "fp8": "fp8", "int8": "int8", "int4": "int8"}
# Owner -> settings that only make sense together with the owner's value.
FOLLOWERS = {
    "variant": ("model",),
    "speculation": (
        "draft_tokens",
        "draft_tokens_by_batch",
        "drafter_kv_format",
        "drafter_attention_backend",
    ),
    "draft_tokens": ("draft_tokens_by_batch",),
    "kv_format": ("attention_backend", "drafter_kv_format", "drafter_attention_backend"),
    "drafter_kv_format": ("drafter_attention_backend",),
}
MAX_GRAPH = 512


def merge(layers: Sequence[Layer]) -> dict[str, Given]:
    """Return the winning value of each key, lowest layer first, followers dropped as they must."""
    merged: dict[str, Given] = {}
    for layer in layers:
        for owner, followers in FOLLOWERS.items():
            changed = owner in layer.values and owner in merged
            if changed and layer.values[owner].value != merged[owner].value:
                for follower in followers:
                    merged.pop(follower, None)
        merged.update(layer.values)
    return merged


def fill(values: MutableMapping[str, Any]) -> dict[str, str]:
    """Write the dependent defaults into ``values`` (already typed); return their origins by key."""
    origins: dict[str, str] = {}

    def default(key: str, value: Any, why: str) -> None:
        if values.get(key) is None:
            values[key] = value
            origins[key] = f"from {why}"

    speculation, kv_format = values["speculation"], values["kv_format"]
    if values["device"] == "cuda":
        variant = values["variant"]
        default("model", state.prepared_dir(variant), f"variant = {variant}")
    drafter_dir = state.drafter_dir(speculation)
    if drafter_dir is not None:
        default("drafter", drafter_dir, f"speculation = {speculation}")
    default("draft_tokens", DRAFT_TOKENS[speculation], f"speculation = {speculation}")
    drafter = _drafter_format(speculation, kv_format)
    if drafter is not None:
        default("drafter_kv_format", drafter, f"kv_format = {kv_format}")
    default("attention_backend", BACKENDS[kv_format], f"kv_format = {kv_format}")
    if speculation == "dflash2":
        name = values["drafter_kv_format"]
        default("drafter_attention_backend", BACKENDS[name], f"drafter_kv_format = {name}")
    windows = on_wsl()
    default("expandable_segments", not windows, "WSL2" if windows else "no WSL2")
    if values["device"] == "cuda" and not values["eager"]:
        size = min(most_tokens(_lengths(values)), MAX_GRAPH)
        default("graph_sizes", size, "seats x (draft_tokens + 1)")
        if values["kv_bytes"] is None:
            default("graph_bytes", graph_bytes(values["draft_tokens"]), "draft_tokens")
    return origins


def _drafter_format(speculation: str, kv_format: str) -> str | None:
    if speculation == "mtp":
        return kv_format
    if speculation == "dflash2":
        return DRAFTER_FORMATS[kv_format]
    return None


def _lengths(values: Mapping[str, Any]) -> tuple[int, ...]:
    by_batch = values.get("draft_tokens_by_batch") or ()
    return step_lengths(values["seats"], values["draft_tokens"] or 0, by_batch)


def decode_lengths(config: ServeConfig) -> tuple[int, ...]:
    """Return the tokens of each request in a decode step of 1, 2, ... requests."""
    return _lengths(config.model_dump())


def largest_graph(values: Mapping[str, Any]) -> int:
    """Return the largest CUDA graph in tokens, 0 without graphs."""
    sizes = values.get("graph_sizes")
    if sizes is None:
        return 0
    return sizes if isinstance(sizes, int) else max(sizes, default=0)
