"""Sizes of KV-cache groups and pages for a hybrid target with a small sliding-window drafter.

vLLM's own rules waste most of such a pool: they take the drafter's few layers as the size of
every group, and leave its small blocks alone in the target's large pages. The two rules here
are what the patches 0201 and 0301 call instead; they are inert without a sliding-window layer.
Pure arithmetic: no torch, no vLLM.
"""

from collections.abc import Sequence
from math import gcd


def hybrid_group_size(stock: int, layers: Sequence[int], windows: Sequence[int]) -> int:
    """Return how many layers each KV-cache group holds.

    Args:
        stock: vLLM's own choice for these buckets.
        layers: sizes (in layers) of the buckets that keep every token or a recurrent state.
        windows: sizes (in layers) of the sliding-window buckets.

    Returns:
        The largest common divisor of ``layers`` above ``stock`` that pads no sliding-window
        bucket by more layers than it has; ``stock`` when there is none, or when ``stock`` is
        not the size of a smallest bucket that is a sliding-window one. A padded window group
        is cheap: it holds only the blocks of one window.
    """
    if not layers or not windows or stock != min(windows) or stock >= min(layers):
        return stock
    common = gcd(*layers)
    for size in range(common, stock, -1):
        if common % size == 0 and all(-count % size <= count for count in windows):
            return size
    return stock


def window_block(block: int, page: int, largest: int) -> int:
    """Return the block size (tokens) that a sliding-window layer should have.

    Args:
        block: the layer's block now, in tokens; the result is a multiple of it.
        page: bytes of such a block.
        largest: bytes of the largest page among all layers.

    Returns:
        ``block`` when ``page`` divides ``largest`` (vLLM then scales it exactly), else the
        smallest multiple of ``block`` whose page is at least ``largest``.
    """
    if page <= 0 or largest % page == 0:
        return block
    return block * -(-largest // page)
