"""Triton's random numbers in numpy, and where vLLM's kernels place them.

A line-by-line copy of what `triton.language.random` computes, vectorized over requests, so that
hundreds of thousands of draws take seconds on a CPU. `test_lossless_mirror.py` holds it to the
interpreted kernels.
"""

import numpy as np

U32 = np.uint64(0xFFFFFFFF)
ROUNDS = 10
SCALE = np.float32(4.6566127342e-10)


def philox(seed: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the first word (uint32) of Philox 4x32-10 for int64 seeds and offsets (broadcast)."""
    half = np.uint64(32)
    seed, offset = seed.astype(np.uint64), offset.astype(np.uint64)
    shape = np.broadcast_shapes(seed.shape, offset.shape)
    k0, k1 = seed & U32, seed >> half
    c0, c1, c2, c3 = (np.empty(shape, np.uint64) for _ in range(4))
    c0[...], c1[...], c2[...], c3[...] = offset & U32, offset >> half, 0, 0
    for _ in range(ROUNDS):
        c2 *= np.uint64(0xCD9E8D57)  # the products' high words make c0 and c2, the low c1 and c3
        c0 *= np.uint64(0xD2511F53)
        c1 ^= c2 >> half
        c1 ^= k0
        c3 ^= c0 >> half
        c3 ^= k1
        c2 &= U32
        c0 &= U32
        c0, c1, c2, c3 = c1, c2, c3, c0
        k0 = (k0 + np.uint64(0x9E3779B9)) & U32
        k1 = (k1 + np.uint64(0xBB67AE85)) & U32
    return c0.astype(np.uint32)


def uniform(seed: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return `tl.rand` in float32, zero lifted to the smallest draw (`tl_rand32`)."""
    word = philox(seed, offset).astype(np.int32)
    positive = np.where(word < 0, -word - 1, word)
    return np.maximum(positive.astype(np.float32) * SCALE, SCALE)


def offset(position: np.ndarray, stream: int) -> np.ndarray:
    """Return `noise_offset`: the position, the stream in the high word (0: the target's)."""
    return position.astype(np.int64) + np.int64(stream) * np.int64(2**32)


def gumbel(seed: np.ndarray, at: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return Gumbel noise [requests, keys] of the draw at offsets ``at`` [requests]."""
    own = philox(seed, at).astype(np.int64)
    return np.asarray(-np.log(-np.log1p(-uniform(own[:, None], keys))))
