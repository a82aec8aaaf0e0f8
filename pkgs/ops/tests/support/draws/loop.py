"""The engine's loop for one chain: draft, verify, emit, until each request has its tokens."""

from typing import Protocol

import numpy as np

FIRST, START = 3, 100  # the token that every request ends its prompt with, and its position


class Sampler(Protocol):
    """Drafts and verifies for the requests ``rows``: the mirror, or vLLM's kernels."""

    def draft(self, rows: np.ndarray, last: np.ndarray, position: np.ndarray) -> np.ndarray: ...

    def verify(
        self, rows: np.ndarray, last: np.ndarray, position: np.ndarray, drafts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]: ...


def generate(
    sampler: Sampler, requests: int, tokens: int, chunk: int = 16384
) -> tuple[np.ndarray, int, int]:
    """Return tokens [requests, tokens], and the number of steps and of tokens emitted in them."""
    found = np.zeros((requests, tokens), np.int64)
    steps = emitted = 0
    for start in range(0, requests, chunk):
        rows = np.arange(start, min(start + chunk, requests))
        have = np.zeros(requests, np.int64)
        last = np.full(requests, FIRST, np.int64)
        while rows.size:
            position = START + have[rows]
            drafts = sampler.draft(rows, last[rows], position)
            sampled, count = sampler.verify(rows, last[rows], position, drafts)
            steps, emitted = steps + rows.size, emitted + int(count.sum())
            for i in range(sampled.shape[1]):
                at = have[rows] + i
                use = (i < count) & (at < tokens)
                found[rows[use], at[use]] = sampled[use, i]
            last[rows] = sampled[np.arange(rows.size), count - 1]
            have[rows] += count
            rows = rows[have[rows] < tokens]
    return found, steps, emitted


def seeds_of(requests: int, seed: int) -> np.ndarray:
    """Return random int64 seeds, as an unseeded request gets."""
    limits = np.iinfo(np.int64)
    return np.random.default_rng(seed).integers(limits.min, limits.max, requests)
