"""Sizes that the sampling kernels and their callers share; importing this needs no Triton."""

MAX_K = 64
"""Largest top-k that is found without sorting; a row with a larger one is left to vLLM."""

GROUP = 128
"""Columns whose maximum is kept while a row is scanned. Fewer than k groups hold values above the
k-th largest group maximum, so only those are read again."""
