"""Sizes and the rule that sampling kernels and their callers share; imports no Triton."""

from typing import Any

import numpy as np

MAX_K = 64
"""Largest top-k that is found without sorting; a row with a larger one is left to vLLM."""

GROUP = 128
"""Columns whose maximum is kept while a row is scanned. Fewer than k groups hold values above the
k-th largest group maximum, so only those are read again."""


def needs_no_sort(top_k: np.ndarray[Any, Any], top_p: np.ndarray[Any, Any], vocab: int) -> bool:
    """Return whether a batch can be truncated without a sort, by what the host knows.

    It can when some row has a small top-k and every other row is not truncated at all, as greedy
    rows are not.

    Args:
        top_k: int [requests]; ``vocab`` means none.
        top_p: float [requests]; 1 means none.
        vocab: columns of the logits.
    """
    small = top_k <= MAX_K
    return bool(small.any() and (small | ((top_k == vocab) & (top_p == 1.0))).all())
