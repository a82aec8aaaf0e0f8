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
def kth_largest(x, k, PARTS: tl.constexpr):
    """Give the k-th largest of clean fp32 [N] (copies count), by a search over its bits.

    The search starts at the smallest of the largest values of PARTS parts, which at least PARTS
    values reach, and looks at two places at a time. It ends as soon as exactly k values are at or
    above the lower end: the smallest of them is the answer.

    Args:
        x: fp32 [N], without NaN and -0; PARTS divides N.
        k: int scalar, ``1 <= k <= PARTS``.
    """
    bits = x.to(tl.int32, bitcast=True)
    keys = tl.where(bits >= 0, bits, bits ^ 0x7FFFFFFF)  # integers in the order of the values
    highest = tl.max(tl.reshape(keys, [PARTS, x.shape[0] // PARTS]), axis=1)
    low = tl.min(highest, axis=0).to(tl.int64)
    high = tl.max(highest, axis=0).to(tl.int64) + 1
    count = k + 1
    while (high - low > 1) & (count != k):
        third = tl.maximum((high - low) // 3, 1)
        lower = low + third
        upper = high - third
        reach = (keys >= lower.to(tl.int32)).to(tl.int32)
        reach += (keys >= upper.to(tl.int32)).to(tl.int32) << 16
        both = tl.sum(reach, axis=0)
        at_upper = both >> 16
        at_lower = both & 0xFFFF
        high = tl.where(at_upper >= k, high, tl.where(at_lower >= k, upper, lower))
        low = tl.where(at_upper >= k, upper, tl.where(at_lower >= k, lower, low))
        count = tl.where(at_upper >= k, at_upper, tl.where(at_lower >= k, at_lower, count))
    return tl.min(tl.where(keys >= low.to(tl.int32), x, float("inf")), axis=0)
