"""Split attention over int8 and int4 caches: a segment's partial results, from whole words.

A tile of words is loaded once for all query rows, unpacked in registers and multiplied as it is:
scales and zero points act on scores and probabilities, so no dequantized tile exists.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl

from qwen3090_ops.attention.words import steps_of, unpack


@triton.jit
def regrouped(keys):
    """Return int4 keys [a, dim] with the dimensions in the order of ``regrouped_from``.

    A thread of a tensor core's product takes 4 neighbours and the 4 that stand 16 further on. With
    the 8 nibbles of a word there, keys go from registers straight into the product on sm_86; as
    they are they would pass through shared memory, behind a barrier that makes queries spill.
    """
    A: tl.constexpr = keys.shape[0]
    DIM: tl.constexpr = keys.shape[1]
    groups = keys.reshape(A, DIM // 32, 4, 2, 4)  # four words, halves of a word, nibbles
    return groups.permute(0, 1, 3, 2, 4).reshape(A, DIM)


@triton.jit
def regrouped_from(lane):
    """Return which dimension ``regrouped`` puts at ``lane``."""
    return lane // 32 * 32 + lane // 4 % 4 * 8 + lane // 16 % 2 * 4 + lane % 4


@triton.jit(do_not_specialize=["segments"])
def words_kernel(
    q,
    cache,
    table,
    lengths,
    starts,
    partial,
    weights,
    scale,  # of q·k, times log2(e)
    stride_q_token,
    stride_q_head,
    stride_block,
    stride_table,
    STRIDE_TOKEN: tl.constexpr,  # words from a token to the next, and to the next KV head
    STRIDE_HEAD: tl.constexpr,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    VALUES: tl.constexpr,  # of one word
    PAGE: tl.constexpr,
    ROWS: tl.constexpr,
    QUERIES: tl.constexpr,  # query tokens of one tile of rows
    TOKENS: tl.constexpr,  # most query tokens of one request, of the scratch
    TILE: tl.constexpr,  # at most PAGE
    TILES: tl.constexpr,  # tiles of query tokens
    segments,  # of each request
):
    """Write one segment's sums of one tile of query rows; quantized.attend_words has the shapes."""
    TYPE: tl.constexpr = q.dtype.element_ty
    WORDS: tl.constexpr = DIM // VALUES
    STEPS: tl.constexpr = (PAGE + TILE - 1) // TILE  # of a page
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
    steps = steps_of(length, PAGE, TILE)
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
    word = tl.arange(0, WORDS)
    index = tl.arange(0, TILE)
    met = regrouped_from(lane) if VALUES == 8 else lane  # the dimensions that keys stand in
    queries = tl.load(
        q
        + (begin + token).to(tl.int64)[:, None] * stride_q_token
        + head[:, None] * stride_q_head
        + met[None, :],
        mask=wanted[:, None],
        other=0.0,
    )
    summed = tl.sum(queries.to(tl.float32), 1)
    last = tl.where(wanted, length - count + token, -1)  # the last position that a row sees
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, DIM], tl.float32)
    words_at = index[:, None] * STRIDE_TOKEN + word[None, :]
    for step in range(low, high):
        page = step // STEPS
        fresh = step % STEPS * TILE  # the first token of the page that is this step's
        # a page's last tile ends with the page: no load leaves it, and none needs a mask
        within = tl.minimum(fresh, PAGE - TILE)
        block = tl.load(table + request * stride_table + page).to(tl.int64)
        at = cache + block * stride_block + (within * STRIDE_TOKEN + kv_head * STRIDE_HEAD)
        place = page * PAGE + within + index
        inside = (within + index >= fresh) & (place < length)

        keys = unpack(tl.load(at + words_at), VALUES, TYPE)
        if VALUES == 8:
            keys = regrouped(keys)
        bits = tl.load(at + WORDS + index * STRIDE_TOKEN, mask=inside, other=0)
        scores = tl.dot(queries, keys.trans())
        if VALUES == 8:
            scores -= summed[:, None] * ((bits & 15) + 128).to(tl.float32)[None, :]
            bits &= -16
        scores *= (bits.to(tl.float32, bitcast=True) * scale)[None, :]
        seen = tl.where(inside, place, 2147483647)[None, :] <= last[:, None]
        scores = tl.where(seen, scores, float("-inf"))
        peak = tl.maximum(top, tl.max(scores, 1))
        safe = tl.where(peak == float("-inf"), 0.0, peak)
        chance = tl.exp2(scores - safe[:, None])
        shrink = tl.exp2(top - safe)
        total = total * shrink + tl.sum(chance, 1)

        bits = tl.load(at + (2 * WORDS + 1) + index * STRIDE_TOKEN, mask=inside, other=0)
        zero = ((bits & 15) + 128).to(tl.float32)
        if VALUES == 8:
            bits &= -16
        chance = (chance * bits.to(tl.float32, bitcast=True)[None, :]).to(TYPE)
        values = unpack(tl.load(at + (WORDS + 1) + words_at), VALUES, TYPE)
        out = out * shrink[:, None]
        if VALUES == 8:
            # now, not at the end: the sums stay as small as what they are for
            out -= tl.sum(chance.to(tl.float32) * zero[None, :], 1)[:, None]
        out = tl.dot(chance, values, out)
        top = peak

    at_row = ((request * segments + segment) * TOKENS + token) * HEADS + head
    tl.store(partial + at_row.to(tl.int64)[:, None] * DIM + lane[None, :], out, wanted[:, None])
    tl.store(weights + at_row * 2, top, wanted)
    tl.store(weights + at_row * 2 + 1, total, wanted)
