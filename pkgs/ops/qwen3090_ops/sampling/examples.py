"""How the sampling kernels are launched, for the check of what they need on sm_86."""

from typing import Any

from qwen3090_ops.kernels import Example
from qwen3090_ops.sampling.limits import GROUP, MAX_K

_VOCAB, _DRAFT_VOCAB = 248_320, 40_960
_PACKAGE = "qwen3090_ops.sampling"


def _maxima(name: str, dtype: str, tile: int) -> Example:
    return Example(
        name,
        f"{_PACKAGE}.scan:group_maxima_kernel",
        {
            "logits": f"*{dtype}",
            "logits_stride": "i32",
            "maxima": "*fp32",
            "vocab": "i32",
            "groups": "i32",
        },
        {"GROUP": GROUP, "TILE": tile},
        aligned=("logits", "logits_stride", "maxima", "vocab"),
    )


def _cuts(name: str, dtype: str, vocab: int, *, draft: bool) -> Example:
    groups = -(-vocab // GROUP)
    constants: dict[str, Any] = {
        "HAS_P": True,
        "HAS_TEMPERATURE": draft,
        "HAS_STATES": draft,
        "GROUP": GROUP,
        "GROUPS_PADDED": 1 << (groups - 1).bit_length(),
        "TILE": 32,
        "MAX_K": MAX_K,
        "CAPACITY": MAX_K * GROUP,
    }
    signature = {
        "logits": f"*{dtype}",
        "logits_stride": "i32",
        "maxima": "*fp32",
        "ids": "*i32",
        "list_values": "*fp32",
        "list_columns": "*i32",
        "cut_values": "*fp32",
        "cut_columns": "*i32",
        "top_k": "*i32",
        "top_p": "*fp32",
        "temperature": "*fp32",
        "states": "*i32",
        "vocab": "i32",
        "groups": "i32",
    }
    if not draft:
        constants |= {"temperature": None, "states": None}
    return Example(
        name,
        f"{_PACKAGE}.cuts:cuts_kernel",
        {key: kind for key, kind in signature.items() if key not in constants},
        constants,
        warps=8,
    )


def _mask(name: str, dtype: str, tile: int) -> Example:
    return Example(
        name,
        f"{_PACKAGE}.scan:mask_kernel",
        {
            "logits": f"*{dtype}",
            "logits_stride": "i32",
            "maxima": "*fp32",
            "cut_values": "*fp32",
            "cut_columns": "*i32",
            "vocab": "i32",
            "groups": "i32",
        },
        {"GROUP": GROUP, "TILE": tile},
        aligned=("logits", "logits_stride", "maxima", "vocab"),
    )


def _top(name: str, dtype: str) -> Example:
    cuts = _cuts(name, dtype, _VOCAB, draft=False)
    outputs = {"values": "*fp32", "columns": "*i64", "k": "i32"}
    kept = ("GROUP", "GROUPS_PADDED", "TILE", "MAX_K", "CAPACITY")
    return Example(
        name,
        f"{_PACKAGE}.top:top_kernel",
        {key: kind for key, kind in cuts.signature.items() if key[:3] not in ("cut", "top")}
        | outputs,
        {key: cuts.constants[key] for key in kept},
        warps=8,
    )


EXAMPLES = [
    _maxima("group maxima, target", "fp32", 32),
    _maxima("group maxima, target, few rows", "fp32", 16),
    _maxima("group maxima, MTP draft", "bf16", 32),
    _cuts("cuts, target", "fp32", _VOCAB, draft=False),
    _cuts("cuts, MTP draft", "bf16", _DRAFT_VOCAB, draft=True),
    _top("candidates, DFlash2", "bf16"),
    _mask("mask, target", "fp32", 32),
    _mask("mask, target, few rows", "fp32", 16),
    _mask("mask, MTP draft", "bf16", 32),
]
"""Every launch of ``truncate`` and ``top`` for the model's and the draft vocabulary."""
