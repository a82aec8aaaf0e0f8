"""Numbers for weights: the same on every machine, thread count and order of making.

Noise comes from integers of a generator seeded with the tensor's name, and directions from
a Hadamard matrix, so nothing depends on a maths library's last bit.
"""

import hashlib
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def noise(name: str, shape: tuple[int, ...], std: float) -> Array:
    """Return uniform noise, float32 of ``shape``, with mean 0 and standard deviation ``std``."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    steps = np.random.default_rng(seed).integers(-32768, 32768, size=shape, dtype=np.int32)
    values: Array = (steps * (std * sqrt(3.0) / 32768.0)).astype(np.float32)
    return values


def linear(name: str, shape: tuple[int, ...], gain: float = 1.0) -> Array:
    """Return noise for a linear [rows, cols] that scales its input's size by ``gain``."""
    return noise(name, shape, gain / sqrt(shape[-1]))


def off_axes(name: str, rows: int, cols: int, std: float, skip: int) -> Array:
    """Return noise, float32 [rows, cols], whose columns have no part in the first directions.

    It sums directions from number ``skip`` on, with whole numbers, so the sums are exact.
    """
    axes = directions(rows)[skip:].astype(np.float64)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    parts = np.random.default_rng(seed).integers(-32768, 32768, size=(cols, len(axes)))
    scale = std * sqrt(3.0 / len(axes)) / 32768.0
    values: Array = (axes.T @ parts.T.astype(np.float64) * scale).astype(np.float32)
    return values


@cache
def directions(size: int) -> Array:
    """Return ``size`` orthogonal rows of +1 and -1, float32 [size, size].

    Raises:
        ValueError: ``size`` is not a power of two.
    """
    if size & (size - 1):
        raise ValueError(f"hidden size {size} is not a power of two")
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]]).astype(np.float32)
    signs = np.where(noise("directions", (size,), 1.0) < 0, -1.0, 1.0)
    signed: Array = (matrix * signs).astype(np.float32)
    return signed
