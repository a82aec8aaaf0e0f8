"""Triton kernels that turn queries for a rotated cache, and merged results back: small products.

A butterfly inside of the merge took 25 us of an H200 for 8 tokens, these products a few: a program
multiplies 16 rows by 64 columns of the matrix, which the second-level cache holds.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import triton
import triton.language as tl

from qwen3090_ops.attention.words import PARTS

ROWS, COLUMNS = 16, 64
"""Of the product of one program; 16 rows are the least that it takes."""
RESULTS = ROWS // 2
"""Rows that one program turns back, each in two parts."""


@triton.jit(do_not_specialize=["rows"])
def rotate_kernel(
    q,
    matrix,  # [DIM, DIM] of formats.rotation, q's type
    out,
    rows,  # query tokens times heads
    stride_q_token,
    stride_q_head,
    stride_out_token,
    stride_out_head,
    HEADS: tl.constexpr,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write q @ matrix of each query row into ``out``, another tensor than q."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    lane = tl.arange(0, DIM)
    inside = (row < rows)[:, None]
    token, head = (row // HEADS).to(tl.int64), row % HEADS
    at = q + (token * stride_q_token + head * stride_q_head)[:, None]
    turn = tl.load(matrix + lane[:, None] * DIM + column[None, :])
    found = tl.dot(tl.load(at + lane[None, :], mask=inside, other=0.0), turn)
    target = out + (token * stride_out_token + head * stride_out_head)[:, None] + column[None, :]
    tl.store(target, found.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["segments"], do_not_specialize_on_alignment=PARTS)
def unrotate_kernel(
    merged,  # fp32 [(request, segment, token, head), DIM]: the merge wrote to segment 0
    matrix,  # [DIM, DIM] of formats.rotation, out's type
    starts,
    out,
    stride_out_token,
    stride_out_head,
    HEADS: tl.constexpr,
    DIM: tl.constexpr,
    TOKENS: tl.constexpr,
    segments,  # of each request
    RESULTS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write merged @ matrix.T of a request's rows into ``out``.

    A value goes in as two of 16 bits, its rounded part and the rest: rounding it alone would cost
    as much as the output's. Both are rows of one product, and a thread holds both rows of the sums.
    As two products every warp converted every value: on sm_86 984 instructions and 255 registers
    instead of 344 and 56.
    """
    request = tl.program_id(0)
    begin = tl.load(starts + request)
    count = tl.load(starts + request + 1) - begin
    part = tl.arange(0, 2 * RESULTS)
    row = tl.program_id(1) * RESULTS + part % RESULTS
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    lane = tl.arange(0, DIM)
    inside = (row < count * HEADS)[:, None]
    first = (request * segments * TOKENS * HEADS).to(tl.int64)
    at = merged + (first + row)[:, None] * DIM + lane[None, :]
    values = tl.load(at, mask=inside, other=0.0)
    turn = tl.load(matrix + column[None, :] * DIM + lane[:, None])
    high = values.to(out.dtype.element_ty)
    low = (values - high.to(tl.float32)).to(out.dtype.element_ty)
    both = tl.dot(tl.where((part < RESULTS)[:, None], high, low), turn)
    found = tl.sum(both.reshape(2, RESULTS, COLUMNS), 0)
    row = tl.program_id(1) * RESULTS + tl.arange(0, RESULTS)
    inside = (row < count * HEADS)[:, None]
    place = (begin + row // HEADS).to(tl.int64) * stride_out_token + row % HEADS * stride_out_head
    target = out + place[:, None] + column[None, :]
    tl.store(target, found.to(out.dtype.element_ty), mask=inside)
