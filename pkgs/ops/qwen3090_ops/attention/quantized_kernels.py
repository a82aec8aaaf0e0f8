"""Split attention over int8 and int4 caches: a segment's partial results, from whole words.

A tile of words is loaded once for all query rows, unpacked in registers and multiplied as it is:
scales and zero points act on scores and probabilities, so no dequantized tile exists. Products are
of fp16, which holds every unpacked value; sums are fp32.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl

from qwen3090_ops.attention.words import PARTS, base_and_scale, steps_of, unpack


@triton.jit
def regrouped(x):
    """Return [a, dim] with int4 keys' dimensions in another order, for queries and keys alike.

    A thread of a tensor core's product takes 4 neighbours and the 4 that stand 16 further on. With
    the 8 nibbles of a word there, keys go from registers straight into the product on sm_86; as
    they are they would pass through shared memory, behind a barrier that makes queries spill.
    """
    A: tl.constexpr = x.shape[0]
    DIM: tl.constexpr = x.shape[1]
    groups = x.reshape(A, DIM // 32, 4, 2, 4)  # four words, halves of a word, nibbles
    return groups.permute(0, 1, 3, 2, 4).reshape(A, DIM)


@triton.jit
def met_by(queries, VALUES: tl.constexpr):
    """Return queries [a, dim] with the dimensions in the order that unpacked keys stand in."""
    HALF: tl.constexpr = VALUES // 2
    A: tl.constexpr = queries.shape[0]
    DIM: tl.constexpr = queries.shape[1]
    pairs = queries.reshape(A, DIM // VALUES, 2, HALF).permute(0, 1, 3, 2).reshape(A, DIM)
    return regrouped(pairs) if VALUES == 8 else pairs


@triton.jit(do_not_specialize=["segments"], do_not_specialize_on_alignment=PARTS)
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
    """Write one segment's sums of one tile of query rows; quantized.attend_words has the shapes.

    Probabilities are kept in fp16 in parts of the largest value scale so far, of any row: what is
    below 2**-39 of the largest of these products loses precision.
    """
    FULL: tl.constexpr = q.dtype.element_ty == tl.float32  # for tests of exactness
    TYPE: tl.constexpr = tl.float32 if FULL else tl.float16
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
    from_q = (begin + token).to(tl.int64) * stride_q_token + head * stride_q_head
    queries = tl.load(q + from_q[:, None] + lane[None, :], mask=wanted[:, None], other=0.0).to(TYPE)
    summed = tl.sum(queries.to(tl.float32), 1)
    # To memory, where this program's results will be, and back: on sm_90 a converted operand would
    # take 64 registers a thread, a loaded one is read from shared memory.
    at_row = (((request * segments + segment) * TOKENS + token) * HEADS + head).to(tl.int64)
    staged = partial.to(tl.pointer_type(TYPE), bitcast=True)
    staged += at_row[:, None] * (DIM if FULL else 2 * DIM) + lane[None, :]
    tl.store(staged, met_by(queries, VALUES), wanted[:, None])
    tl.debug_barrier()
    queries = tl.load(staged, mask=wanted[:, None], other=0.0)
    last = tl.where(wanted, length - count + token, -1)  # the last position that a row sees
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, DIM], tl.float32)
    all_see = length - count + first + 1  # positions that each row sees
    unit = 1e-30  # the largest scale of values so far: probabilities are in fp16, in parts of it
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

        key_words = tl.load(at + words_at)
        value_words = tl.load(at + (WORDS + 1) + words_at)
        keys = unpack(key_words, VALUES).to(TYPE)
        if VALUES == 8:
            keys = regrouped(keys)
        bits = tl.load(at + WORDS + index * STRIDE_TOKEN, mask=inside, other=0)
        base, stretch = base_and_scale(bits, VALUES)
        scores = tl.dot(queries, keys.trans())
        scores = (scores - summed[:, None] * base[None, :]) * (stretch * scale)[None, :]
        if (page * PAGE + within + TILE > all_see) | (within < fresh):
            seen = tl.where(inside, place, 2147483647)[None, :] <= last[:, None]
            scores = tl.where(seen, scores, float("-inf"))
        peak = tl.maximum(top, tl.max(scores, 1))
        safe = tl.where(peak == float("-inf"), 0.0, peak)
        chance = tl.exp2(scores - safe[:, None])
        shrink = tl.exp2(top - safe)
        total = total * shrink + tl.sum(chance, 1)
        top = peak

        bits = tl.load(at + (2 * WORDS + 1) + index * STRIDE_TOKEN, mask=inside, other=0)
        base, stretch = base_and_scale(bits, VALUES)
        most = tl.maximum(unit, tl.max(stretch, 0))
        chance = (chance * (stretch * (32768.0 / most))[None, :]).to(TYPE)
        values = unpack(value_words, VALUES).to(TYPE)
        out = out * (shrink * (unit / most))[:, None]
        # now, not at the end: the sums stay as small as what they are for
        out -= tl.sum(chance.to(tl.float32) * base[None, :], 1)[:, None]
        out = tl.dot(chance, values, out)
        unit = most

    out *= unit / 32768.0  # in the order of words.unpacked_from: the merge knows
    tl.store(partial + at_row[:, None] * DIM + lane[None, :], out, wanted[:, None])
    tl.store(weights + at_row * 2, top, wanted)
    tl.store(weights + at_row * 2 + 1, total, wanted)
