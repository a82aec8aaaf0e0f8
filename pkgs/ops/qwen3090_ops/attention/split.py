"""Attention of a verify step, split over the cache: every query row of a request shares a tile.

FlashAttention-2 gives a request with more than one query token one block a head, whatever its
length; here the cache is cut in segments that run side by side, and a second kernel adds them up.

On an RTX 3090 (82 multiprocessors, 936 GB/s, 100 KB of shared memory each, 99 KB a block): with 8
query tokens of 6 heads a program holds 48 rows of 64; a tile of 32 keys and values of 256 bf16 is
32 KB, two stages of it 64 KB, so one block a multiprocessor, and 82 blocks with 64 KB of loads in
flight each are 5 MB, above the 0.4 MB that 936 GB/s times 400 ns of latency asks for.
"""

from dataclasses import dataclass

import torch

from qwen3090_ops.attention.formats import Format
from qwen3090_ops.attention.kernels import merge_kernel, split_kernel
from qwen3090_ops.attention.scratch import Scratch, segments

LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Shape:
    """How a split kernel is launched: rows and cached tokens of a tile, warps, stages."""

    rows: int
    tile: int
    warps: int
    stages: int = 2


MOST_ROWS = 128
"""Query rows of a tile at most; the heads of a KV head have to fit."""


def rows_of(tokens: int, group: int, most: int) -> int:
    """Return the rows of a tile, a power of two of 16 to ``most``, for ``shape_of``."""
    rows = 16
    while rows < min(tokens * group, most):
        rows *= 2
    return rows


def shape_of(tokens: int, group: int) -> Shape:
    """Return the launch for ``tokens`` query tokens of ``group`` heads a KV head."""
    rows = rows_of(tokens, group, MOST_ROWS)
    # 128 rows of 256 bf16 take 64 KB themselves: a smaller tile keeps a block below 99 KB.
    return Shape(rows, tile=16 if rows > 64 else 32, warps=8 if rows > 64 else 4)


def attend(
    q: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
    starts: torch.Tensor,
    out: torch.Tensor,
    *,
    scale: float,
    tokens: int,
    scratch: Scratch,
    multiprocessors: int,
    shape: Shape | None = None,
) -> None:
    """Write the causal attention of each request's last tokens into ``out`` (reference.attend).

    Args:
        q: bf16 or fp16 [tokens, query heads, dim]; the last dimension contiguous.
        key_cache: [blocks, block size, KV heads, dim] of q's type; value_cache alike.
        table: int32 [requests, blocks a request], rows contiguous.
        lengths, starts: int32 [requests] and [requests + 1], on the device: nothing is read back.
        out: [tokens, query heads, dim].
        scale: multiplies q·k.
        tokens: most query tokens of a request in this batch, at most ``scratch.tokens``.
        scratch: memory for the partial results, of at least this batch.
        multiprocessors: of the card; decides with the batch how many segments run side by side.
        shape: another launch than ``shape_of`` gives.
    """
    _, heads, dim = q.shape
    kv_heads, page = key_cache.shape[2], key_cache.shape[1]
    group, requests = heads // kv_heads, lengths.shape[0]
    parts = parts_of(
        scratch,
        requests=requests,
        tokens=tokens,
        heads=heads,
        kv_heads=kv_heads,
        multiprocessors=multiprocessors,
    )
    shape = shape or shape_of(tokens, group)
    queries = shape.rows // group
    tiles = -(-tokens // queries)
    split_kernel[(requests * tiles, kv_heads, parts)](
        q,
        key_cache,
        value_cache,
        table,
        lengths,
        starts,
        scratch.partial,
        scratch.weights,
        scale * LOG2E,
        q.stride(0),
        q.stride(1),
        *key_cache.stride()[:3],
        *value_cache.stride()[:3],
        table.stride(0),
        HEADS=heads,
        GROUP=group,
        DIM=dim,
        PAGE=page,
        ROWS=shape.rows,
        QUERIES=queries,
        TOKENS=scratch.tokens,
        TILE=shape.tile,
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
        page=shape.tile,
        tile=shape.tile,
    )


def parts_of(
    scratch: Scratch, *, requests: int, tokens: int, heads: int, kv_heads: int, multiprocessors: int
) -> int:
    """Return in how many segments the kernels read each request of a batch.

    Raises:
        ValueError: the batch needs more than ``scratch`` holds.
    """
    if tokens > scratch.tokens:
        raise ValueError(f"{tokens} query tokens; the scratch is for {scratch.tokens}")
    parts = segments(requests, kv_heads, multiprocessors)
    if requests * parts * scratch.tokens * heads > scratch.partial.shape[0]:
        raise ValueError(f"{requests} requests in {parts} segments do not fit into the scratch")
    return parts


def merge(
    out: torch.Tensor,
    lengths: torch.Tensor,
    starts: torch.Tensor,
    *,
    tokens: int,
    scratch: Scratch,
    parts: int,
    page: int,
    tile: int,
    format: Format | None = None,
) -> None:
    """Add up the segments in ``scratch`` and write the attention into ``out``.

    Args:
        out, lengths, starts, tokens: as for ``attend``.
        parts: segments of each request.
        page, tile: a segment is a number of tiles of cached tokens, none over two pages.
        format: of the cache when it is quantized: the partial results then have the order of
            words.unpacked_from; over a rotated one fp32 rows are left in each request's first
            segment of ``scratch.partial`` instead.
    """
    _, heads, dim = out.shape
    merge_kernel[(lengths.shape[0], tokens, heads)](
        scratch.partial,
        scratch.weights,
        lengths,
        starts,
        out,
        out.stride(0),
        out.stride(1),
        HEADS=heads,
        DIM=dim,
        TOKENS=scratch.tokens,
        PAGE=page,
        TILE=tile,
        segments=parts,
        CHUNK=16,
        VALUES=format.values if format else 1,
        TURNED=format is not None and format.rotated,
        num_warps=4,
    )
