"""Which tensors are the head, the embedding and the MTP linears, and what shapes they must have."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from qwen3090_prepare.errors import PrepareError

DRAFT_HEAD = "mtp.draft_lm_head"
DRAFT_IDS = "mtp_draft_vocab_ids.pt"
PACKED_PARTS = ("weight_packed", "weight_scale", "weight_shape")
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_MLP = ("gate_proj", "up_proj", "down_proj")
_MTP_LINEAR = re.compile(
    r"^mtp\.(fc|layers\.\d+\.(self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj))$"
)


def modules(tensors: Iterable[str]) -> dict[str, set[str]]:
    """Group tensor names into modules: {"lm_head": {"weight"}, ...}."""
    found: dict[str, set[str]] = {}
    for name in tensors:
        module, _, part = name.rpartition(".")
        found.setdefault(module, set()).add(part)
    return found


def find_head(tensors: Iterable[str]) -> str:
    """Return the head's module name, wherever the checkpoint keeps it."""
    return _only(tensors, re.compile(r"^(?!mtp\.)(.*\.)?lm_head$"), "output head (lm_head)")


def find_embedding(tensors: Iterable[str]) -> str:
    """Return the input embedding's module name, with or without ``language_model.``."""
    return _only(tensors, re.compile(r"^(?!mtp\.)(.*\.)?embed_tokens$"), "embedding (embed_tokens)")


def _only(tensors: Iterable[str], pattern: re.Pattern[str], what: str) -> str:
    found = sorted(
        module
        for module, parts in modules(tensors).items()
        if pattern.match(module) and parts & {"weight", "weight_packed"}
    )
    if not found:
        raise PrepareError(
            f"the checkpoint has no {what}",
            "fetch every shard of the base; a checkpoint with tied embeddings cannot be prepared",
        )
    if len(found) > 1:
        raise PrepareError(f"the checkpoint has the {what} twice: {', '.join(found)}")
    return found[0]


def mtp_linears(tensors: Iterable[str]) -> list[str]:
    """Return the names of the MTP module's linear layers that the checkpoint has, sorted."""
    return sorted(
        module
        for module, parts in modules(tensors).items()
        if _MTP_LINEAR.match(module) and parts & {"weight", "weight_packed"}
    )


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the language model's part of config.json."""
    text: Mapping[str, Any] = config.get("text_config") or config
    return text


def required_mtp(config: Mapping[str, Any]) -> list[str]:
    """Return the MTP linears that config.json promises ([] when it has no MTP layer)."""
    layers = int(text_config(config).get("mtp_num_hidden_layers") or 0)
    names = ["mtp.fc"] if layers else []
    for index in range(layers):
        names += [f"mtp.layers.{index}.self_attn.{name}" for name in _ATTENTION]
        names += [f"mtp.layers.{index}.mlp.{name}" for name in _MLP]
    return sorted(names)


def expected_shape(module: str, config: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return [out, in] of the head, the embedding, an MTP linear or an attention or MLP linear.

    None means that config.json does not say (the draft head's rows, the visual tower).
    """
    text = text_config(config)
    try:
        hidden = int(text["hidden_size"])
        leaf = module.rpartition(".")[2]
        if module == DRAFT_HEAD or ".visual." in module:
            return None
        if leaf in ("lm_head", "embed_tokens"):
            return int(text["vocab_size"]), hidden
        if module == "mtp.fc":
            return hidden, 2 * hidden
        if ".self_attn." in module and leaf in _ATTENTION:
            return _attention_shape(leaf, text, hidden)
        if ".mlp." in module and leaf in _MLP:
            inner = int(text["intermediate_size"])
            return (hidden, inner) if leaf == "down_proj" else (inner, hidden)
    except (KeyError, TypeError, ValueError):
        return None
    return None


def _attention_shape(leaf: str, text: Mapping[str, Any], hidden: int) -> tuple[int, int]:
    heads = int(text["num_attention_heads"])
    width = int(text.get("head_dim") or hidden // heads)
    if leaf == "o_proj":
        return hidden, heads * width
    if leaf == "q_proj":
        return heads * width * (2 if text.get("attn_output_gate") else 1), hidden
    return int(text["num_key_value_heads"]) * width, hidden
