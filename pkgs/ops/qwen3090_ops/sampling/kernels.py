"""The three passes of truncation: scan rows for group maxima, find each row's cut, write -inf.

A row is read once in full. Group maxima give a lower bound of the k-th largest value, which fewer
than k groups exceed, so only those groups are read again; the last pass writes -inf and reads the
groups that can keep something. The cut is a value and a column: what lies above the value stays,
and of its copies those from that column on (a sort keeps copies in the order of columns).
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import triton
import triton.language as tl

from qwen3090_ops.sampling.order import clean, kth_largest


@triton.jit
def group_maxima_kernel(
    logits,  # [rows, vocab], any float type
    logits_stride,
    maxima,  # fp32 [rows, groups]
    vocab,
    groups,
    GROUP: tl.constexpr,
    TILE: tl.constexpr,  # groups of one program
):
    """Write the largest clean value of each group of columns; grid (rows, tiles)."""
    row = tl.program_id(0).to(tl.int64)
    group = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(
        logits + row * logits_stride + column,
        mask=column < vocab,
        other=float("-inf"),
    )
    tl.store(maxima + row * groups + group, tl.max(clean(x), axis=1), mask=group < groups)


@triton.jit
def _load_groups(row_logits, ids, base, count, vocab, GROUP: tl.constexpr, TILE: tl.constexpr):
    """Load TILE listed groups from place `base` of the list; clean fp32 and columns, both flat."""
    place = base + tl.arange(0, TILE)
    group = tl.load(ids + place, mask=place < count, other=0)
    column = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    mask = (place < count)[:, None] & (column < vocab)
    x = clean(tl.load(row_logits + column, mask=mask, other=float("-inf")))
    return tl.reshape(x, [TILE * GROUP]), tl.reshape(column, [TILE * GROUP])


@triton.jit
def _narrow(
    values, columns, count, k, out_values, out_columns, WIDTH: tl.constexpr, MAX_K: tl.constexpr
):
    """List the values above the k-th largest of a list; give that value, its copies, the length."""
    place = tl.arange(0, WIDTH)
    x = tl.load(values + place, mask=place < count, other=float("-inf"))
    column = tl.load(columns + place, mask=place < count, other=0)
    bound = kth_largest(x, k, MAX_K)
    above = (x > bound).to(tl.int32)
    to = tl.cumsum(above, axis=0) - 1
    tl.store(out_values + to, x, mask=above > 0)
    tl.store(out_columns + to, column, mask=above > 0)
    return bound, tl.sum((x == bound).to(tl.int32), axis=0), tl.sum(above, axis=0)


@triton.jit
def _find(
    row_logits, maxima, ids, list_values, list_columns, k, vocab, groups,
    GROUP: tl.constexpr, GROUPS_PADDED: tl.constexpr, TILE: tl.constexpr,
    MAX_K: tl.constexpr, CAPACITY: tl.constexpr,
):  # fmt: skip
    """Find a row's k-th largest value and list what is above it, in the order of columns.

    Gives that value, how many copies of it there are, the length of the list (less than k), where
    in the list's memory it starts, and the number of groups in `ids` that reach the value.
    """
    # The groups that reach the k-th largest group maximum hold all of the row's k largest values.
    offset = tl.arange(0, GROUPS_PADDED)
    maximum = tl.load(maxima + offset, mask=offset < groups, other=float("-inf"))
    bound = kth_largest(maximum, k, MAX_K)
    reaches = ((maximum >= bound) & (maximum > float("-inf"))).to(tl.int32)
    num_groups = tl.sum(reaches, axis=0)
    tl.store(ids + tl.cumsum(reaches, axis=0) - 1, offset, mask=reaches > 0)
    tl.debug_barrier()

    # Values above it, in the order of columns (there can be none, or more than k).
    length = 0
    copies = 0
    for base in range(0, num_groups, TILE):
        x, column = _load_groups(row_logits, ids, base, num_groups, vocab, GROUP, TILE)
        above = (x > bound).to(tl.int32)
        to = length + tl.cumsum(above, axis=0) - 1
        tl.store(list_values + to, x, mask=above > 0)
        tl.store(list_columns + to, column, mask=above > 0)
        length += tl.sum(above, axis=0)
        copies += tl.sum((x == bound).to(tl.int32), axis=0)
    tl.debug_barrier()
    start = 0
    if length >= k:
        if length <= 4 * MAX_K:
            bound, copies, length = _narrow(
                list_values, list_columns, length, k,
                list_values + CAPACITY, list_columns + CAPACITY, 4 * MAX_K, MAX_K,
            )  # fmt: skip
        else:
            bound, copies, length = _narrow(
                list_values, list_columns, length, k,
                list_values + CAPACITY, list_columns + CAPACITY, CAPACITY, MAX_K,
            )  # fmt: skip
        start += CAPACITY
        tl.debug_barrier()
    return bound, copies, length, start, num_groups


@triton.jit
def cuts_kernel(
    logits,  # [rows, vocab], any float type
    logits_stride,
    maxima,  # fp32 [rows, groups]
    ids,  # int32 scratch [rows, groups]
    list_values,  # fp32 scratch [rows, CAPACITY + MAX_K]
    list_columns,  # int32 scratch [rows, CAPACITY + MAX_K]
    cut_values,  # fp32 [rows]
    cut_columns,  # int32 [rows]; -1: leave the row alone
    top_k,  # int32 [states]
    top_p,  # fp32 [states]
    temperature,  # fp32 [states]
    states,  # int [rows]: the row's place in the three above, or negative
    vocab,
    groups,
    HAS_P: tl.constexpr,
    HAS_TEMPERATURE: tl.constexpr,
    HAS_STATES: tl.constexpr,
    GROUP: tl.constexpr,
    GROUPS_PADDED: tl.constexpr,
    TILE: tl.constexpr,
    MAX_K: tl.constexpr,
    CAPACITY: tl.constexpr,
):
    """Find where each row is cut; grid (rows,)."""
    row = tl.program_id(0).to(tl.int64)
    state = row
    if HAS_STATES:
        state = tl.load(states + row).to(tl.int64)
    k = tl.load(top_k + state, mask=state >= 0, other=0)
    if (k < 1) | (k > MAX_K):
        tl.store(cut_columns + row, -1)
        return
    row_logits = logits + row * logits_stride
    ids += row * groups
    list_values += row * (CAPACITY + MAX_K)
    list_columns += row * (CAPACITY + MAX_K)

    bound, copies, length, start, num_groups = _find(
        row_logits, maxima + row * groups, ids, list_values, list_columns, k, vocab, groups,
        GROUP, GROUPS_PADDED, TILE, MAX_K, CAPACITY,
    )  # fmt: skip
    list_values += start
    list_columns += start

    # Now `bound` is the k-th largest value, and fewer than k are above it.
    cut_value = bound
    cut_column = 0
    if HAS_P:
        place = tl.arange(0, MAX_K)
        listed = place < length
        value = tl.load(list_values + place, mask=listed, other=float("-inf"))
        column = tl.load(list_columns + place, mask=listed, other=0)
        top = tl.maximum(tl.max(value, axis=0), bound)
        if (top > float("-inf")) & (top < float("inf")):
            scale = 1.0
            if HAS_TEMPERATURE:
                heat = tl.load(temperature + state)
                scale = tl.where(heat > 0.0, 1.0 / heat, 1.0)
            mass = tl.where(listed, tl.exp((value - top) * scale), 0.0)
            is_value = bound > float("-inf")
            copies = tl.where(is_value, copies, 0)
            copy_mass = tl.where(is_value, tl.exp((bound - top) * scale), 0.0)
            total = tl.sum(mass, axis=0) + copies * copy_mass
            limit = 1.0 - tl.load(top_p + state)
            # The copies of the bound come first in ascending order: how many does top-p drop?
            one = copy_mass / total
            fit = tl.minimum(limit / tl.maximum(one, 1e-37), copies.to(tl.float32))
            dropped = tl.where(one * copies <= limit, copies, fit.to(tl.int32))
            dropped = tl.minimum(dropped, tl.where(length > 0, copies, copies - 1))
            if dropped < copies:
                if dropped > 0:
                    seen = 0
                    for base in range(0, num_groups, TILE):
                        x, at = _load_groups(row_logits, ids, base, num_groups, vocab, GROUP, TILE)
                        equal = (x == bound).to(tl.int32)
                        nth = seen + tl.cumsum(equal, axis=0)
                        hit = (equal > 0) & (nth == dropped + 1)
                        cut_column += tl.sum(tl.where(hit, at, 0), axis=0)
                        seen += tl.sum(equal, axis=0)
            else:
                before = (value[None, :] < value[:, None]) | (
                    (value[None, :] == value[:, None]) & (column[None, :] <= column[:, None])
                )
                before = before & listed[None, :]
                reached = tl.sum(tl.where(before, mass[None, :], 0.0), axis=1)
                rank = tl.sum(before.to(tl.int32), axis=1)
                stays = (reached + copies * copy_mass) / total > limit
                stays = listed & (stays | (rank == length))
                cut_value = tl.min(tl.where(stays, value, float("inf")), axis=0)
                cut_column = tl.min(tl.where(stays & (value == cut_value), column, vocab), axis=0)
    tl.store(cut_values + row, cut_value)
    tl.store(cut_columns + row, cut_column)


@triton.jit
def mask_kernel(
    logits,  # [rows, vocab], any float type, written
    logits_stride,
    maxima,  # fp32 [rows, groups]
    cut_values,  # fp32 [rows]
    cut_columns,  # int32 [rows]; -1: leave the row alone
    vocab,
    groups,
    GROUP: tl.constexpr,
    TILE: tl.constexpr,
):
    """Write -inf below each row's cut; grid (rows, tiles). Reads the groups that reach it only."""
    row = tl.program_id(0).to(tl.int64)
    cut_column = tl.load(cut_columns + row)
    if cut_column < 0:
        return
    cut_value = tl.load(cut_values + row)
    group = tl.program_id(1) * TILE + tl.arange(0, TILE)
    maximum = tl.load(maxima + row * groups + group, mask=group < groups, other=float("-inf"))
    column = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    at = logits + row * logits_stride + column
    inside = column < vocab
    read = inside & (maximum >= cut_value)[:, None]
    x = tl.load(at, mask=read, other=float("-inf"))
    value = x.to(tl.float32)
    stays = (value > cut_value) | ((value == cut_value) & (column >= cut_column))
    tl.store(at, tl.where(stays, value, float("-inf")).to(x.dtype), mask=inside)


@triton.jit
def top_kernel(
    logits,  # [rows, vocab], any float type
    logits_stride,
    maxima,  # fp32 [rows, groups]
    ids,  # int32 scratch [rows, groups]
    list_values,  # fp32 scratch [rows, CAPACITY + MAX_K]
    list_columns,  # int32 scratch [rows, CAPACITY + MAX_K]
    values,  # fp32 [rows, k]
    columns,  # int64 [rows, k]
    k,
    vocab,
    groups,
    GROUP: tl.constexpr,
    GROUPS_PADDED: tl.constexpr,
    TILE: tl.constexpr,
    MAX_K: tl.constexpr,
    CAPACITY: tl.constexpr,
):
    """Write the k largest values of each row in falling order, copies by column; grid (rows,)."""
    row = tl.program_id(0).to(tl.int64)
    row_logits = logits + row * logits_stride
    ids += row * groups
    list_values += row * (CAPACITY + MAX_K)
    list_columns += row * (CAPACITY + MAX_K)
    values += row * k
    columns += row * k
    bound, _copies, length, start, num_groups = _find(
        row_logits, maxima + row * groups, ids, list_values, list_columns, k, vocab, groups,
        GROUP, GROUPS_PADDED, TILE, MAX_K, CAPACITY,
    )  # fmt: skip
    place = tl.arange(0, MAX_K)
    listed = place < length
    value = tl.load(list_values + start + place, mask=listed, other=float("-inf"))
    column = tl.load(list_columns + start + place, mask=listed, other=0)
    ahead = (value[None, :] > value[:, None]) | (
        (value[None, :] == value[:, None]) & (column[None, :] < column[:, None])
    )
    rank = tl.sum((ahead & listed[None, :]).to(tl.int32), axis=1)
    tl.store(values + rank, value, mask=listed)
    tl.store(columns + rank, column.to(tl.int64), mask=listed)
    # Then copies of the k-th largest; none when it is -inf, and the rest is -inf at column 0.
    rest = (place >= length) & (place < k)
    tl.store(values + place, tl.zeros([MAX_K], tl.float32) + bound, mask=rest)
    if bound == float("-inf"):
        tl.store(columns + place, tl.zeros([MAX_K], tl.int64), mask=rest)
    else:
        seen = 0
        for base in range(0, num_groups, TILE):
            x, at = _load_groups(row_logits, ids, base, num_groups, vocab, GROUP, TILE)
            equal = (x == bound).to(tl.int32)
            to = length + seen + tl.cumsum(equal, axis=0) - 1
            tl.store(columns + to, at.to(tl.int64), mask=(equal > 0) & (to < k))
            seen += tl.sum(equal, axis=0)
