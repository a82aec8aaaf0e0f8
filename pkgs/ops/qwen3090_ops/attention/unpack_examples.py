"""How the unpacking of a quantized cache is launched, for the check of what it needs on sm_86."""

from qwen3090_ops.attention.formats import INT4, INT8, Format
from qwen3090_ops.attention.unpack import TILE, WARPS
from qwen3090_ops.kernels import Example

_KV_HEADS, _DIM = 4, 256


def _unpack(form: Format, page: int) -> Example:
    pointers = {"words": "*i32", "table": "*i32", "keys": "*bf16", "values": "*bf16"}
    strides = [f"stride_{step}" for step in ("block", "token", "head", "table")]
    return Example(
        f"unpacking, {form.name}",
        "qwen3090_ops.attention.unpack:unpack_kernel",
        {**pointers, **dict.fromkeys(("row", "first", "count", *strides), "i32")},
        {
            "KV_HEADS": _KV_HEADS,
            "DIM": _DIM,
            "PAGE": page,
            "VALUES": form.values,
            "TILE": TILE,
        },
        warps=WARPS,
    )


EXAMPLES = [_unpack(INT8, 864), _unpack(INT4, 1696)]
