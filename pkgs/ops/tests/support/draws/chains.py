"""Toy next-token models with a known distribution: what draft and verify must reproduce exactly.

A token's distribution depends on the token before it, so that any run of tokens has an exact
probability and a wrong step shows in the joint distribution of neighbours, not only in marginals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

VOCAB = 8  # a multiple of 8: numpy then sums a row in the order of the kernels' padded blocks
CANDIDATES = 5
Truncate = Callable[[torch.Tensor, int, float], torch.Tensor]


@dataclass(frozen=True)
class Cut:
    """Top-k and top-p of a request, and whether its drafts are cut by them too."""

    top_k: int = VOCAB
    top_p: float = 1.0
    drafts: bool = False


PLAIN, TARGET_CUT, BOTH_CUT = Cut(), Cut(4, 0.9), Cut(4, 0.9, drafts=True)


@dataclass(frozen=True)
class Chain:
    """One cell of the test: tables of logits (float32) for target and drafter.

    ``target`` [VOCAB, VOCAB]: rows by the token before, tempered and cut (-inf), as the verifier
    gets them. ``draft`` [depth, VOCAB, VOCAB]: the chained drafter's, by depth and token before.
    ``candidates`` [depth, VOCAB, CANDIDATES] (int64, distinct) and ``scores`` [depth, VOCAB,
    CANDIDATES (before), CANDIDATES]: the selector's, by the block's first token. Both are not
    tempered, and cut where drafts are; ``raw_draft`` and ``raw_scores`` are not.
    """

    temperature: float
    cut: Cut
    target: np.ndarray
    draft: np.ndarray
    raw_draft: np.ndarray
    candidates: np.ndarray
    scores: np.ndarray
    raw_scores: np.ndarray

    @property
    def depth(self) -> int:
        return int(self.draft.shape[0])


def make(depth: int, temperature: float, cut: Cut, truncate: Truncate, seed: int = 5) -> Chain:
    """Make a chain; ``truncate(tempered rows, k, p)`` is the engine's."""
    rng = np.random.default_rng(seed)

    def drafts_cut(rows: np.ndarray) -> np.ndarray:
        if not cut.drafts:
            return rows
        flat = torch.from_numpy(rows.reshape(-1, rows.shape[-1])) / temperature
        gone = torch.isinf(truncate(flat, cut.top_k, cut.top_p)).numpy().reshape(rows.shape)
        return np.where(gone, np.float32(-np.inf), rows)

    raw = rng.normal(0, 1.2, (VOCAB, VOCAB)).astype(np.float32)
    target = torch.from_numpy(raw) / temperature
    if cut.top_k < VOCAB:
        target = truncate(target, cut.top_k, cut.top_p)
    # Like the target, but never equal; the deeper, the worse.
    spread = 0.7 + 0.2 * np.arange(depth).reshape(-1, 1, 1)
    draft = (raw + spread * rng.normal(0, 1, (depth, VOCAB, VOCAB))).astype(np.float32)
    order = rng.permuted(np.tile(np.arange(VOCAB), (depth, VOCAB, 1)), axis=-1)
    candidates = np.ascontiguousarray(order[..., :CANDIDATES])
    scores = rng.normal(0, 1.2, (depth, VOCAB, CANDIDATES, CANDIDATES)).astype(np.float32)
    return Chain(
        temperature,
        cut,
        target.numpy(),
        drafts_cut(draft),
        draft,
        candidates,
        drafts_cut(scores),
        scores,
    )


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the softmax of each row in float64."""
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    result: np.ndarray = shifted / shifted.sum(axis=-1, keepdims=True)
    return result


def expected(chain: Chain, first: int, tokens: int) -> dict[str, np.ndarray]:
    """Return the distribution of the first token and of each pair of neighbours."""
    step = probabilities(chain.target)
    marginal = step[first]
    found = {"first token": marginal}
    for a, b in pairwise(range(1, tokens + 1)):
        found[f"tokens {a} and {b}"] = (marginal[:, None] * step).ravel()
        marginal = marginal @ step
    return found


def observed(tokens: np.ndarray) -> dict[str, np.ndarray]:
    """Count what ``expected`` predicts in ``tokens`` [requests, tokens]."""
    found = {"first token": np.bincount(tokens[:, 0], minlength=VOCAB)}
    for a, b in pairwise(range(1, tokens.shape[1] + 1)):
        pair = tokens[:, a - 1] * VOCAB + tokens[:, b - 1]
        found[f"tokens {a} and {b}"] = np.bincount(pair, minlength=VOCAB * VOCAB)
    return found


def p_value(counts: np.ndarray, probability: np.ndarray) -> float:
    """Return the p-value of Pearson's test; 0.0 where something impossible was drawn.

    Cells with an expectation below 5 are taken as one.
    """
    total = counts.sum()
    if counts[probability == 0].any():
        return 0.0
    want = probability * total
    small = want < 5
    want = np.append(want[~small], want[small].sum())
    have = np.append(counts[~small], counts[small].sum())
    if want[-1] == 0:
        want, have = want[:-1], have[:-1]
    statistic = float(((have - want) ** 2 / want).sum())
    freedom = torch.tensor((len(want) - 1) / 2, dtype=torch.float64)
    half = torch.tensor(statistic / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(freedom, half)) if freedom > 0 else 1.0


def p_values(chain: Chain, first: int, tokens: np.ndarray) -> dict[str, float]:
    """Return {what: p-value} for generated ``tokens`` [requests, tokens]."""
    want, have = expected(chain, first, tokens.shape[1]), observed(tokens)
    return {what: p_value(have[what], want[what]) for what in want}
