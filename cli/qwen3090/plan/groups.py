"""Splits layers into KV-cache groups: vLLM 0.28.0's rule, or with the rule of patch 0201.

Mirrors ``_get_kv_cache_groups_uniform_page_size`` (v1/core/kv_cache_utils.py).
"""

from collections import Counter
from dataclasses import dataclass
from math import gcd

from qwen3090.plan.specs import WINDOW, LayerSpec, ceil_div


@dataclass(frozen=True)
class Group:
    """Layers that share one block table.

    Attributes:
        spec: the spec of each of its layers.
        layers: layers in it.
        padding: unused layer slots of its blocks.
    """

    spec: LayerSpec
    layers: int
    padding: int


def stock_group_size(buckets: list[int]) -> int:
    """Return vLLM's choice: the smallest bucket, or the largest when it is below 1.5 times that."""
    smallest, largest = min(buckets), max(buckets)
    return largest if largest < smallest * 1.5 else smallest


def hybrid_group_size(stock: int, layers: list[int], windows: list[int]) -> int:
    """Return the group size of patch 0201 (qwen3090_ops/kv_groups.py states the rule)."""
    if not layers or not windows or stock != min(windows) or stock >= min(layers):
        return stock
    common = gcd(*layers)
    for size in range(common, stock, -1):
        if common % size == 0 and all(-n % size <= n for n in windows):
            return size
    return stock


def make_groups(specs: tuple[LayerSpec, ...], *, hybrid: bool) -> tuple[Group, ...]:
    """Return the groups in the engine's order.

    Args:
        specs: one spec a layer, all of one page size.
        hybrid: whether patch 0201 is applied.
    """
    buckets = Counter(specs)  # keeps the order of first appearance
    size = stock_group_size(list(buckets.values()))
    if hybrid:
        size = hybrid_group_size(
            size,
            [n for s, n in buckets.items() if s.kind != WINDOW],
            [n for s, n in buckets.items() if s.kind == WINDOW],
        )
    counts = []
    for spec, layers in buckets.items():
        number = ceil_div(layers, size)
        counts += [(spec, len(range(i, layers, number))) for i in range(number)]
    slots = max(count for _, count in counts)
    return tuple(Group(spec, count, slots - count) for spec, count in counts)
