"""How the attention kernels are launched, for the check of what they need on sm_86."""

from typing import Any

from qwen3090_ops.attention import quantized_examples, unpack_examples
from qwen3090_ops.attention.formats import INT4, INT8, Format
from qwen3090_ops.attention.split import shape_of
from qwen3090_ops.kernels import Example

_MODULE = "qwen3090_ops.attention.kernels"
_HEADS, _KV_HEADS, _DIM, _PAGE = 24, 4, 256, 448
_GROUP = _HEADS // _KV_HEADS
_NUMBERS = ("stride_out_token", "stride_out_head", "segments")


def _split(tokens: int) -> Example:
    shape = shape_of(tokens, _GROUP)
    places = [f"stride_{part}_{step}" for part in "kv" for step in ("block", "token", "head")]
    strides = ["stride_q_token", "stride_q_head", *places]
    pointers = dict.fromkeys("qkv", "*bf16") | {
        "table": "*i32",
        "lengths": "*i32",
        "starts": "*i32",
        "partial": "*fp32",
        "weights": "*fp32",
    }
    constants: dict[str, Any] = {
        "HEADS": _HEADS,
        "GROUP": _GROUP,
        "DIM": _DIM,
        "PAGE": _PAGE,
        "ROWS": shape.rows,
        "QUERIES": shape.rows // _GROUP,
        "TOKENS": tokens,
        "TILE": shape.tile,
        "TILES": -(-tokens // (shape.rows // _GROUP)),
    }
    return Example(
        f"verify attention, {tokens} tokens",
        f"{_MODULE}:split_kernel",
        {
            **pointers,
            "scale": "fp32",
            **dict.fromkeys(strides, "i64"),
            "stride_table": "i64",
            "segments": "i32",
        },
        constants,
        aligned=(*pointers, *strides),
        warps=shape.warps,
        stages=shape.stages,
    )


def _merge(name: str, format: Format | None = None) -> Example:
    pointers = {"partial": "*fp32", "weights": "*fp32", "lengths": "*i32", "starts": "*i32"}
    sizes = {"HEADS": _HEADS, "DIM": _DIM, "TOKENS": 8, "PAGE": 432, "TILE": 32}
    return Example(
        name,
        f"{_MODULE}:merge_kernel",
        {**pointers, "out": "*bf16", **dict.fromkeys(_NUMBERS, "i32")},
        {
            **sizes,
            "CHUNK": 16,
            "VALUES": format.values if format else 1,
            "TURNED": format is not None and format.rotated,
        },
    )


EXAMPLES = [
    *unpack_examples.EXAMPLES,
    *quantized_examples.EXAMPLES,
    *(_split(tokens) for tokens in (2, 5, 8, 16, 21, 64)),
    _merge("verify attention, merge"),
    _merge("verify attention, merge of an int8 cache", INT8),
    _merge("verify attention, merge of an int4 cache", INT4),
]
