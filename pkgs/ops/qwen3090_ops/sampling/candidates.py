"""Truncation of a row of few candidates inside a kernel: what a selector scores, a token or two."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
import triton
import triton.language as tl

EXTREME = tl.constexpr(1e30)
"""Scores are kept within this: divided by a temperature they stay finite in fp32."""


@triton.jit
def finite_scores(scores, mask):
    """Replace NaN and -inf by the lowest score and +inf by the highest; -inf outside the mask.

    A row with a highest score of that size is moved to 0, which changes no probability: noise
    added to 1e30 would vanish, and what is sampled would not be what was scored.

    Args:
        scores: fp32 or fp64 [N]; mask: bool [N].
    """
    scores = tl.where(scores == scores, scores, -EXTREME)
    scores = tl.minimum(tl.maximum(scores, -EXTREME), EXTREME)
    scores = tl.where(mask, scores, float("-inf"))
    top = tl.max(scores, axis=0)
    return scores - tl.where(tl.abs(top) == EXTREME, top, 0.0)


@triton.jit
def truncate_candidates(scores, mask, k, p, temperature):
    """Set to -inf the candidates that top-k, then top-p remove; like the target's truncation.

    Copies of the k-th best score stay; of the rest in ascending order (copies in the order of
    places) those go whose cumulative probability is at most ``1 - p``; the last always stays.

    Args:
        scores: finite fp32 or fp64 [N], -inf outside the mask (see ``finite_scores``).
        mask: bool [N]: which places hold candidates.
        k: int scalar; less than 1: no top-k.
        p: fp32 scalar: top-p.
        temperature: fp32 scalar: top-p looks at ``softmax(scores / temperature)``; 0: no top-p.
    """
    place = tl.arange(0, scores.shape[0])
    better = (scores[None, :] > scores[:, None]) & mask[None, :]
    stays = mask & ((k < 1) | (tl.sum(better.to(tl.int32), axis=1) < k))
    if temperature > 0.0:
        mass = tl.where(stays, tl.exp((scores - tl.max(scores, axis=0)) / temperature), 0.0)
        upto = (scores[None, :] < scores[:, None]) | (
            (scores[None, :] == scores[:, None]) & (place[None, :] <= place[:, None])
        )
        reached = tl.sum(tl.where(upto, mass[None, :], 0.0), axis=1)
        rank = tl.sum((upto & stays[None, :]).to(tl.int32), axis=1)
        above = reached > (1.0 - p) * tl.sum(mass, axis=0)
        stays = stays & (above | (rank == tl.sum(stays.to(tl.int32), axis=0)))
    return tl.where(stays, scores, float("-inf"))
