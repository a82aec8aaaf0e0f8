"""Triton helpers of the truncation kernels: clean values, and the k-th largest without a sort."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import triton
import triton.language as tl


@triton.jit
def clean(x):
    """Give floats [any] as fp32 with NaN as -inf and -0 as 0."""
    x = x.to(tl.float32)
    x = tl.where(x == x, x, float("-inf"))
    return tl.where(x == 0.0, 0.0, x)


@triton.jit
def kth_largest(x, k):
    """Give the k-th largest of clean fp32 [N] (copies count), by halving the range of its bits.

    Ends as soon as exactly k values are at or above the bound: the smallest of them is the answer.
    ``1 <= k <= N``.
    """
    bits = x.to(tl.int32, bitcast=True)
    keys = tl.where(bits >= 0, bits, bits ^ 0x7FFFFFFF)
    count = tl.sum((keys >= 0).to(tl.int32), axis=0)
    bound = tl.where(count >= k, 0, -0x7FFFFFFF - 1)
    step = 1 << 30
    while (step > 0) & (count != k):
        above = tl.sum((keys >= bound + step).to(tl.int32), axis=0)
        bound = tl.where(above >= k, bound + step, bound)
        count = tl.where(above >= k, above, count)
        step = step >> 1
    return tl.min(tl.where(keys >= bound, x, float("inf")), axis=0)
