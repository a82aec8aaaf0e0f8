"""Finds the k-th largest value of a row, and what is above it, from the maxima of its groups."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import triton
import triton.language as tl

from qwen3090_ops.sampling.order import clean, kth_largest


@triton.jit
def load_groups(row_logits, ids, base, count, vocab, GROUP: tl.constexpr, TILE: tl.constexpr):
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
def find(
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
        x, column = load_groups(row_logits, ids, base, num_groups, vocab, GROUP, TILE)
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
