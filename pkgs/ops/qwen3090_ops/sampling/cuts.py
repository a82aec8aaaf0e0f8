"""Finds where top-k and top-p cut a row.

The cut is a value and a column: what lies above the value stays, and of its copies those from that
column on (a sort keeps copies in the order of columns).
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import triton
import triton.language as tl

from qwen3090_ops.sampling.find import find, load_groups


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

    bound, copies, length, start, num_groups = find(
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
                        x, at = load_groups(row_logits, ids, base, num_groups, vocab, GROUP, TILE)
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
