"""Drafting and verification of vLLM's V2 runner in numpy, line by line, for many requests at once.

Mirrors `gumbel_sample`, DFlash2's `_selector_walk_kernel` and `rejection_sample` (standard and
block) for one vocabulary block in float32. The switches turn single corrections off: each must be
caught by the statistical test.
"""

from dataclasses import dataclass, field

import numpy as np

from draws import noise
from draws.chains import CANDIDATES, VOCAB, Chain


@dataclass
class Faults:
    """What to do wrong, for the test of the test."""

    shared_noise: bool = False  # drafts use the target's noise (without patch 0221)
    repeated_draws: bool = False  # acceptance draws depend on the position alone (without 0223)
    wrong_cache: bool = False  # what is cached as q is not what was sampled from


@dataclass
class Mirror:
    """One chain served to requests ``seeds`` [requests] (int64)."""

    chain: Chain
    seeds: np.ndarray
    selector: bool
    block: bool
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        shape = (len(self.seeds), self.chain.depth, VOCAB)
        self.draft_logits = np.full(shape, -np.inf, np.float32)
        self.target_log = self.chain.target - log_sum(self.chain.target)

    def draft(self, rows: np.ndarray, last: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Return drafts [rows, depth] after tokens ``last`` at ``position``; remember q."""
        walk = self._walk if self.selector else self._chained
        tokens = walk(rows, last, position)
        if self.faults.wrong_cache:
            self.draft_logits[rows] *= np.float32(0.5)
        return tokens

    def _at(self, position: np.ndarray, depth: int) -> np.ndarray:
        return noise.offset(position + depth, 0 if self.faults.shared_noise else depth + 1)

    def _chained(self, rows: np.ndarray, last: np.ndarray, position: np.ndarray) -> np.ndarray:
        chain, found = self.chain, []
        for depth in range(chain.depth):
            logits = chain.draft[depth, last]
            self.draft_logits[rows, depth] = logits
            g = noise.gumbel(self.seeds[rows], self._at(position, depth), np.arange(VOCAB))
            last = (logits / np.float32(chain.temperature) + g).argmax(-1)
            found.append(last)
        return np.stack(found, axis=1)

    def _walk(self, rows: np.ndarray, last: np.ndarray, position: np.ndarray) -> np.ndarray:
        chain, found = self.chain, []
        before, each = np.zeros_like(rows), np.arange(len(rows))
        for depth in range(chain.depth):
            ids, scores = chain.candidates[depth, last], chain.scores[depth, last, before]
            g = noise.gumbel(self.seeds[rows], self._at(position, depth), ids)
            before = (scores / np.float32(chain.temperature) + g).argmax(-1)
            cache = np.full((len(rows), VOCAB), -np.inf, np.float32)
            np.put_along_axis(cache, ids, scores, axis=-1)
            self.draft_logits[rows, depth] = cache
            found.append(ids[each, before])
        assert ids.shape[-1] == CANDIDATES
        return np.stack(found, axis=1)

    def verify(
        self, rows: np.ndarray, last: np.ndarray, position: np.ndarray, drafts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sampled [rows, depth + 1] and how many of them count [rows]."""
        depth, each = self.chain.depth, np.arange(len(rows))
        before = np.concatenate([last[:, None], drafts], axis=1)
        target_log = self.target_log[before]
        temperature = np.float32(self.chain.temperature)
        draft = self.draft_logits[rows] / temperature
        draft_log = draft - log_sum(draft)
        picked = np.take_along_axis(target_log[:, :depth], drafts[..., None], -1)[..., 0]
        proposed = np.take_along_axis(draft_log, drafts[..., None], -1)[..., 0]
        streams = [0 if self.faults.repeated_draws else -1 - i for i in range(depth)]
        u = np.stack(
            [
                noise.uniform(self.seeds[rows], noise.offset(position + i, stream))
                for i, stream in enumerate(streams)
            ],
            axis=1,
        )
        joint = np.zeros((len(rows), depth), np.float32)
        if self.block:
            running = np.zeros(len(rows), np.float32)
            for i in range(depth):
                running = np.minimum(running + (picked[:, i] - proposed[:, i]), np.float32(0))
                joint[:, i] = running
            accepted = block_length(u, joint, target_log, draft_log)
        else:
            kept = picked > np.log(u) + proposed
            accepted = np.cumprod(kept, axis=1).sum(axis=1)
        bonus = accepted == depth
        at = np.minimum(accepted, depth - 1)
        rest = target_log[each, accepted].copy()
        if self.block:
            rest += np.where(accepted > 0, joint[each, accepted - 1], np.float32(0))[:, None]
        with np.errstate(invalid="ignore"):
            ratio = np.exp(draft_log[each, at] - rest)
            rest = np.where(ratio < 1, rest + np.log1p(-np.where(ratio < 1, ratio, 0)), -np.inf)
        rest = np.where(bonus[:, None], self.chain.target[before[each, accepted]], rest).astype(
            np.float32
        )
        g = noise.gumbel(self.seeds[rows], noise.offset(position + accepted, 0), np.arange(VOCAB))
        sampled = np.concatenate([drafts, np.zeros((len(rows), 1), drafts.dtype)], axis=1)
        sampled[each, accepted] = (rest + g).argmax(-1)
        return sampled, accepted + 1


def log_sum(logits: np.ndarray) -> np.ndarray:
    """Return log sum exp over the last axis, kept, as the kernels compute it for one block."""
    most = logits.max(axis=-1, keepdims=True)
    return np.asarray(most + np.log(np.exp(logits - most).sum(axis=-1, keepdims=True)))


def block_length(
    u: np.ndarray, joint: np.ndarray, target_log: np.ndarray, draft_log: np.ndarray
) -> np.ndarray:
    """Return the number of drafts [rows] that block verification accepts (arXiv 2403.10444)."""
    depth = joint.shape[1]
    accepted = np.zeros(len(u), np.int64)
    for i in range(depth):
        ratio = np.exp(joint[:, i])
        threshold = ratio
        if i < depth - 1:
            over = ratio[:, None] * np.exp(target_log[:, i + 1]) - np.exp(draft_log[:, i + 1])
            mass = np.maximum(over, np.float32(0)).sum(axis=-1)
            below = mass + np.float32(1) - ratio
            safe = np.where(below > 0, below, np.float32(1))
            threshold = np.where(below > 0, mass / safe, np.float32(1))
        accepted = np.where(u[:, i] <= threshold, i + 1, accepted)
    return accepted
