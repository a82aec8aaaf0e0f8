"""Decode and verify attention over vLLM's int8 and int4 caches, split like the bf16 one.

On an RTX 3090 (82 multiprocessors, 936 GB/s, 100 KB of shared memory each, 99 KB a block) a cached
token of a KV head is 520 bytes in int8 and 264 in int4 instead of 1,024 in bf16, but the products
are the same: with 48 rows of 64 in use, 65 kFLOP a token and head, at 71 TFLOP/s less time than
the bf16 bytes take and more than the int8 ones. So the kernel is bound by its tensor cores and the
instructions around them; words are unpacked once for all rows of a tile, two values at a time.

Times on an H200 are in docs/results/gpu-attention.txt. There 5 query tokens take longer than 8:
sm_90 multiplies 64 rows by wgmma, 16 and 32 rows as sm_86 does all. On sm_86 there is no such step.

An int4 cache's queries and results are turned by kernels of their own (rotation.py).
"""

import torch

from qwen3090_ops.attention.formats import Format, rotation
from qwen3090_ops.attention.quantized_kernels import words_kernel
from qwen3090_ops.attention.rotation import COLUMNS, RESULTS, ROWS, rotate_kernel, unrotate_kernel
from qwen3090_ops.attention.scratch import Scratch
from qwen3090_ops.attention.split import LOG2E, Shape, merge, parts_of, rows_of

MOST_ROWS = 64
"""Query rows of a tile at most; the heads of a KV head have to fit."""


def shape_of(tokens: int, group: int, format: Format) -> Shape:
    """Return the launch for ``tokens`` query tokens of ``group`` heads a KV head.

    Chosen by what an RTX 3090 has room for, 2 programs a multiprocessor with up to 49 KB of shared
    memory or one with 99 KB, and among those by times on an H200. Compiled for sm_86, with the
    instructions a cached token of the loop, all warps (int8, int4):

    ==========================  ============  ========  ============================================
    rows, tile, warps, stages   shared, KB    loop
    ==========================  ============  ========  ============================================
    16, 64, 4, 1                42, 42        77, 74    1 new token
    32, 32, 4, 1                35, 35        140, 133  up to 5 over int8
    32, 32, 4, 2                51, 43        140, 132  up to 5 over int4
    64, 32, 4, 3                69, 61        223, 220  more; one program: words are loaded ahead;
                                                        17 and 14 loads of spilled registers a step
    64, 32, 4, 1                53, 53        225, 217  5 to 10 % slower on an H200 for int8
    64, 64, 4, 1                73, 73        186, 179  59 and 56 registers spill in every step
    ==========================  ============  ========  ============================================

    More than 64 rows are several tiles of them: 128 would compute scores twice on sm_86 and spill.
    On an H200 three tiles take 563 us for 21 tokens after 131,072 in int8; 128 rows took 516.
    """
    rows = rows_of(tokens, group, MOST_ROWS)
    if rows == 16:
        return Shape(rows, tile=64, warps=4, stages=1)
    if rows == 32:
        return Shape(rows, tile=32, warps=4, stages=2 if format.values == 8 else 1)
    return Shape(rows, tile=32, warps=4, stages=3)


def attend_words(
    q: torch.Tensor,
    cache_words: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
    starts: torch.Tensor,
    out: torch.Tensor,
    *,
    scale: float,
    tokens: int,
    scratch: Scratch,
    multiprocessors: int,
    format: Format,
    shape: Shape | None = None,
) -> None:
    """Write the causal attention of each request's last tokens into ``out``, as split.attend does.

    Nothing is allocated, and nothing read back: a CUDA graph replays it with other lengths and
    tables. An int4 cache's rotation is made at the first call on a device, before any capture.

    Args:
        q: bf16 or fp16 [tokens, query heads, dim], not rotated; the last dimension contiguous.
        cache_words: int32 [blocks, block size, KV heads, words], of formats.words; block sizes are
            multiples of 16.
        table, lengths, starts, scale, tokens, scratch, multiprocessors: as for split.attend.
        out: [tokens, query heads, dim], of q's type, the last dimension contiguous; a rotated
            cache's queries stand in it meanwhile.
        format: of the cache.
        shape: another launch than ``shape_of`` gives.

    Raises:
        ValueError: the cache is none of this format, or the scratch is too small.
    """
    _, heads, dim = q.shape
    _, page, kv_heads, width = cache_words.shape
    group, requests = heads // kv_heads, lengths.shape[0]
    if width != 2 * (dim // format.values + 1):
        raise ValueError(f"{width} words a token and head are no {format.name} of {dim} dimensions")
    parts = parts_of(
        scratch,
        requests=requests,
        tokens=tokens,
        heads=heads,
        kv_heads=kv_heads,
        multiprocessors=multiprocessors,
    )
    shape = shape or shape_of(tokens, group, format)
    queries = shape.rows // group
    tiles = -(-tokens // queries)
    tile = shape.tile
    while tile > page:
        tile //= 2
    turn = rotation(dim, q.dtype, q.device) if format.rotated else None
    columns = min(COLUMNS, dim)
    if turn is not None:
        rows = q.shape[0] * heads
        rotate_kernel[(-(-rows // ROWS), dim // columns)](
            q,
            turn,
            out,
            rows,
            q.stride(0),
            q.stride(1),
            out.stride(0),
            out.stride(1),
            HEADS=heads,
            DIM=dim,
            ROWS=ROWS,
            COLUMNS=columns,
        )
        q = out
    words_kernel[(requests * tiles, kv_heads, parts)](
        q,
        cache_words,
        table,
        lengths,
        starts,
        scratch.partial,
        scratch.weights,
        scale * LOG2E,
        q.stride(0),
        q.stride(1),
        cache_words.stride(0),
        table.stride(0),
        STRIDE_TOKEN=cache_words.stride(1),
        STRIDE_HEAD=cache_words.stride(2),
        HEADS=heads,
        GROUP=group,
        DIM=dim,
        VALUES=format.values,
        PAGE=page,
        ROWS=shape.rows,
        QUERIES=queries,
        TOKENS=scratch.tokens,
        TILE=tile,
        TILES=tiles,
        segments=parts,
        num_warps=shape.warps,
        num_stages=shape.stages,
    )
    merge(
        out,
        lengths,
        starts,
        tokens=tokens,
        scratch=scratch,
        parts=parts,
        page=page,
        tile=tile,
        format=format,
    )
    if turn is not None:
        unrotate_kernel[(requests, -(-tokens * heads // RESULTS), dim // columns)](
            scratch.partial,
            turn,
            starts,
            out,
            out.stride(0),
            out.stride(1),
            HEADS=heads,
            DIM=dim,
            TOKENS=scratch.tokens,
            segments=parts,
            RESULTS=RESULTS,
            COLUMNS=columns,
        )
