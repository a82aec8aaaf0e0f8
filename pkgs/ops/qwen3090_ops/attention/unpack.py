"""Unpacks a part of one request's quantized cache to plain keys and values, for FlashAttention.

On an RTX 3090 (936 GB/s): 8,192 int8 tokens of 4 KV heads of 256 are 17 MB to read and 34 MB to
write, 54 µs at that rate. Attention of 2,048 new tokens of 24 heads over them is 412 GFLOP, 5.8 ms
at the card's 71 TFLOP/s.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import torch
import triton
import triton.language as tl

from qwen3090_ops.attention.formats import Format
from qwen3090_ops.attention.words import PARTS

TILE = 16
WARPS = 4


@triton.jit
def _value(word, bits, lane, VALUES: tl.constexpr):
    """Return fp32 values of words [tokens, lanes], each lane's own, with scale bits [tokens]."""
    if VALUES == 4:
        whole = (word << (24 - 8 * (lane % 4))[None, :]) >> 24  # the sign comes along
        scale = bits.to(tl.float32, bitcast=True)
    else:
        whole = ((word >> (4 * (lane % 8))[None, :]) & 15) - (bits & 15)[:, None]
        scale = (bits & -16).to(tl.float32, bitcast=True)
    return whole.to(tl.float32) * scale[:, None]


# What changes from chunk to chunk is not specialised on: that would compile variants while serving.
@triton.jit(do_not_specialize=["row", "first", "count"], do_not_specialize_on_alignment=PARTS)
def unpack_kernel(
    words,
    table,
    keys,
    values,
    row,
    first,
    count,
    stride_block,
    stride_token,
    stride_head,
    stride_table,
    KV_HEADS: tl.constexpr,
    DIM: tl.constexpr,
    PAGE: tl.constexpr,
    VALUES: tl.constexpr,
    TILE: tl.constexpr,
):
    """Write one tile of tokens of one KV head; `unpack` has the shapes."""
    head = tl.program_id(1)
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < count
    place = first + at
    block = tl.load(table + row * stride_table + place // PAGE, mask=inside, other=0)
    source = words + block.to(tl.int64) * stride_block + (place % PAGE) * stride_token
    source += head * stride_head
    lane = tl.arange(0, DIM)
    target = (at * KV_HEADS + head)[:, None] * DIM + lane[None, :]
    SIDE: tl.constexpr = DIM // VALUES + 1  # words of K or V and the scale's bits
    key = tl.load(source[:, None] + (lane // VALUES)[None, :], mask=inside[:, None], other=0)
    bits = tl.load(source + SIDE - 1, mask=inside, other=0)
    key = _value(key, bits, lane, VALUES)
    tl.store(keys + target, key.to(keys.dtype.element_ty), mask=inside[:, None])
    source += SIDE
    value = tl.load(source[:, None] + (lane // VALUES)[None, :], mask=inside[:, None], other=0)
    bits = tl.load(source + SIDE - 1, mask=inside, other=0)
    value = _value(value, bits, lane, VALUES)
    tl.store(values + target, value.to(values.dtype.element_ty), mask=inside[:, None])


def unpack(
    cache: torch.Tensor,
    table: torch.Tensor,
    row: int,
    first: int,
    count: int,
    keys: torch.Tensor,
    values: torch.Tensor,
    form: Format,
) -> None:
    """Write positions ``first`` to ``first + count`` of request ``row`` into ``keys``, ``values``.

    Args:
        cache: int32 words of a layer (formats.words).
        table: int32 [requests, blocks a request], rows contiguous: which block holds which part.
        row, first, count: host numbers; ``count`` is at most the length of ``keys``.
        keys, values: bf16 or fp16 [tokens, KV heads, dim], contiguous; rows from ``count`` on stay
            as they are. An int4 cache's stay rotated.
        form: how the cache is packed.

    Raises:
        ValueError: more tokens than ``keys`` holds, or a ``keys`` of other heads than the cache.
    """
    tokens, kv_heads, dim = keys.shape
    width = 2 * (dim // form.values + 1)
    if cache.shape[2:] != (kv_heads, width):
        raise ValueError(
            f"an {form.name} cache of {tuple(cache.shape[2:])} heads and words, "
            f"expected {(kv_heads, width)}"
        )
    if count > tokens:
        raise ValueError(f"{count} tokens to unpack; there is room for {tokens}")
    unpack_kernel[(max(1, triton.cdiv(count, TILE)), kv_heads)](
        cache,
        table,
        keys,
        values,
        row,
        first,
        count,
        *cache.stride()[:3],
        table.stride(0),
        KV_HEADS=kv_heads,
        DIM=dim,
        PAGE=cache.shape[1],
        VALUES=form.values,
        TILE=TILE,
        num_warps=WARPS,
    )
