"""Triton kernels of split attention: partial results of a segment, and their sum."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl

from qwen3090_ops.attention.words import PARTS, steps_of, unpacked_from


@triton.jit(do_not_specialize=["segments"], do_not_specialize_on_alignment=PARTS)
def split_kernel(
    q,
    k,
    v,
    table,
    lengths,
    starts,
    partial,
    weights,
    scale,  # of q·k, times log2(e)
    stride_q_token,
    stride_q_head,
    stride_k_block,
    stride_k_token,
    stride_k_head,
    stride_v_block,
    stride_v_token,
    stride_v_head,
    stride_table,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    PAGE: tl.constexpr,
    ROWS: tl.constexpr,
    QUERIES: tl.constexpr,  # query tokens of one tile of rows
    TOKENS: tl.constexpr,  # most query tokens of one request, of the scratch
    TILE: tl.constexpr,
    TILES: tl.constexpr,  # tiles of query tokens
    segments,  # of each request
):
    """Write one segment's sums of one tile of query rows; split.attend has the shapes."""
    request = tl.program_id(0) // TILES
    tile = tl.program_id(0) % TILES
    kv_head = tl.program_id(1)
    segment = tl.program_id(2)
    begin = tl.load(starts + request)
    count = tl.load(starts + request + 1) - begin
    length = tl.load(lengths + request)
    first = tile * QUERIES
    if first >= count:
        return
    steps = tl.cdiv(length, TILE)
    share = tl.cdiv(steps, segments)
    low = segment * share
    high = tl.minimum(low + share, steps)
    if low >= high:
        return

    row = tl.arange(0, ROWS)
    token = first + row // GROUP
    head = kv_head * GROUP + row % GROUP
    wanted = (row < QUERIES * GROUP) & (token < count)
    lane = tl.arange(0, DIM)
    queries = tl.load(
        q
        + (begin + token).to(tl.int64)[:, None] * stride_q_token
        + head[:, None] * stride_q_head
        + lane[None, :],
        mask=wanted[:, None],
        other=0.0,
    )
    last = length - count + token  # the last position that a row sees
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, DIM], tl.float32)
    for step in range(low, high):
        place = step * TILE + tl.arange(0, TILE)
        inside = place < length
        block = tl.load(table + request * stride_table + place // PAGE, mask=inside, other=0)
        block = block.to(tl.int64)
        within = place % PAGE
        keys = tl.load(
            k
            + (block * stride_k_block + within * stride_k_token)[None, :]
            + kv_head * stride_k_head
            + lane[:, None],
            mask=inside[None, :],
            other=0.0,
        )
        scores = tl.dot(queries, keys) * scale
        seen = (place[None, :] <= last[:, None]) & wanted[:, None]
        scores = tl.where(seen, scores, float("-inf"))
        peak = tl.maximum(top, tl.max(scores, 1))
        safe = tl.where(peak == float("-inf"), 0.0, peak)
        chance = tl.exp2(scores - safe[:, None])
        shrink = tl.exp2(top - safe)
        total = total * shrink + tl.sum(chance, 1)
        values = tl.load(
            v
            + (block * stride_v_block + within * stride_v_token)[:, None]
            + kv_head * stride_v_head
            + lane[None, :],
            mask=inside[:, None],
            other=0.0,
        )
        out = out * shrink[:, None]
        out = tl.dot(chance.to(values.dtype), values, out)
        top = peak

    place_of = ((request * segments + segment) * TOKENS + token) * HEADS + head
    tl.store(partial + place_of.to(tl.int64)[:, None] * DIM + lane[None, :], out, wanted[:, None])
    tl.store(weights + place_of * 2, top, wanted)
    tl.store(weights + place_of * 2 + 1, total, wanted)


@triton.jit(do_not_specialize=["segments"], do_not_specialize_on_alignment=PARTS)
def merge_kernel(
    partial,
    weights,
    lengths,
    starts,
    out,
    stride_out_token,
    stride_out_head,
    HEADS: tl.constexpr,
    DIM: tl.constexpr,
    TOKENS: tl.constexpr,
    PAGE: tl.constexpr,  # no tile of cached tokens spans two pages
    TILE: tl.constexpr,
    segments,  # of each request
    CHUNK: tl.constexpr,
    VALUES: tl.constexpr,  # of a word that partial results follow the order of; 1: in order
    TURNED: tl.constexpr,  # write fp32 into the first segment's place instead, for rotation.py
):
    """Add up the segments of one query token and head, and write the attention."""
    request = tl.program_id(0)
    token = tl.program_id(1)
    head = tl.program_id(2)
    begin = tl.load(starts + request)
    if token >= tl.load(starts + request + 1) - begin:
        return
    steps = steps_of(tl.load(lengths + request), PAGE, TILE)
    share = tl.maximum(tl.cdiv(steps, segments), 1)
    used = tl.cdiv(steps, share)  # the segments that have written anything
    lane = tl.arange(0, DIM)
    top = -float("inf")
    for start in range(0, used, CHUNK):
        segment = start + tl.arange(0, CHUNK)
        at = ((request * segments + segment) * TOKENS + token) * HEADS + head
        top = tl.maximum(
            top, tl.max(tl.load(weights + at * 2, mask=segment < used, other=-float("inf")), 0)
        )
    top = tl.where(top == -float("inf"), 0.0, top)
    total = 0.0
    found = tl.zeros([DIM], tl.float32)
    for start in range(0, used, CHUNK):
        segment = start + tl.arange(0, CHUNK)
        there = segment < used
        at = ((request * segments + segment) * TOKENS + token) * HEADS + head
        peak = tl.load(weights + at * 2, mask=there, other=-float("inf"))
        weight = tl.exp2(peak - top)
        total += tl.sum(weight * tl.load(weights + at * 2 + 1, mask=there, other=0.0), 0)
        part = tl.load(
            partial + at.to(tl.int64)[:, None] * DIM + lane[None, :], mask=there[:, None], other=0.0
        )
        found += tl.sum(part * weight[:, None], 0)
    found = tl.where(total > 0, found / total, 0.0)
    lane = unpacked_from(lane, VALUES)
    if TURNED:
        own = (request * segments * TOKENS + token) * HEADS + head
        tl.debug_barrier()  # other threads have read what is written over, in another order
        tl.store(partial + own.to(tl.int64) * DIM + lane, found)
        return
    target = out + (begin + token).to(tl.int64) * stride_out_token + head * stride_out_head
    tl.store(target + lane, found.to(out.dtype.element_ty))
