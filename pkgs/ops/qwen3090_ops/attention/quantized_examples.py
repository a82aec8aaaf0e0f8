"""How the kernels of quantized caches are launched, for the check of what they need on sm_86."""

from typing import Any

from qwen3090_ops.attention.formats import INT4, INT8, Format
from qwen3090_ops.attention.quantized import shape_of
from qwen3090_ops.attention.rotation import COLUMNS, RESULTS, ROWS
from qwen3090_ops.kernels import Example

_HEADS, _KV_HEADS, _DIM = 24, 4, 256
_GROUP = _HEADS // _KV_HEADS


def _words(form: Format, tokens: int, page: int) -> Example:
    shape = shape_of(tokens, _GROUP, form)
    pointers = {
        "q": "*bf16",
        "cache": "*i32",
        "table": "*i32",
        "lengths": "*i32",
        "starts": "*i32",
        "partial": "*fp32",
        "weights": "*fp32",
    }
    strides = ("stride_q_token", "stride_q_head", "stride_block", "stride_table")
    head = 2 * (_DIM // form.values + 1)
    constants: dict[str, Any] = {
        "STRIDE_TOKEN": _KV_HEADS * head,
        "STRIDE_HEAD": head,
        "HEADS": _HEADS,
        "GROUP": _GROUP,
        "DIM": _DIM,
        "VALUES": form.values,
        "PAGE": page,
        "ROWS": shape.rows,
        "QUERIES": shape.rows // _GROUP,
        "TOKENS": tokens,
        "TILE": shape.tile,
        "TILES": -(-tokens // (shape.rows // _GROUP)),
    }
    return Example(
        f"{form.name} attention, {tokens} tokens, block {page}",
        "qwen3090_ops.attention.quantized_kernels:words_kernel",
        {**pointers, "scale": "fp32", **dict.fromkeys((*strides, "segments"), "i32")},
        constants,
        aligned=(*pointers, "stride_q_token", "stride_q_head", "stride_block"),
        warps=shape.warps,
        stages=shape.stages,
    )


_OUT = {"stride_out_token": "i32", "stride_out_head": "i32"}
_STRIDES = {"stride_q_token": "i32", "stride_q_head": "i32", **_OUT}
_TURN = {"DIM": _DIM, "COLUMNS": COLUMNS}

EXAMPLES = [
    *(_words(INT8, tokens, 864) for tokens in (1, 5, 8, 21, 64)),
    *(_words(INT4, tokens, 1_696) for tokens in (1, 5, 8, 21, 64)),
    Example(
        "rotation of queries",
        "qwen3090_ops.attention.rotation:rotate_kernel",
        {"q": "*bf16", "matrix": "*bf16", "out": "*bf16", "rows": "i32", **_STRIDES},
        {"HEADS": _HEADS, "ROWS": ROWS, **_TURN},
        aligned=("q", "matrix", "out", *_STRIDES),
    ),
    Example(
        "rotation back of results",
        "qwen3090_ops.attention.rotation:unrotate_kernel",
        {
            "merged": "*fp32",
            "matrix": "*bf16",
            "starts": "*i32",
            "out": "*bf16",
            "segments": "i32",
            **_OUT,
        },
        {"HEADS": _HEADS, "TOKENS": 8, "RESULTS": RESULTS, **_TURN},
        aligned=("merged", "matrix", "out", *_OUT),
    ),
]
