"""Are two greedy texts equal, and where not, was it a tie? Speculation must not change greedy text.

Another batch shape means other kernels and another order of additions, so two tokens whose logits
are nearly equal may change places. After the first such place the texts are not comparable.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOLERANCE = 0.25
"""Nats: two steps of a bf16 logit between 16 and 32, one for each engine."""

Row = Mapping[int, float]  # the most likely tokens of one place and their log probabilities


@dataclass(frozen=True)
class Verdict:
    """How two texts of one prompt compare.

    Attributes:
        kind: "equal", "tie" or "different".
        at: the first place where they differ; the length where they are equal.
        gap: nats between the two tokens there, the larger of what the engines say; infinite
            where one is not among an engine's most likely tokens.
    """

    kind: str
    at: int
    gap: float = 0.0


def compare(
    ours: Sequence[int],
    theirs: Sequence[int],
    our_rows: Sequence[Row],
    their_rows: Sequence[Row],
    tolerance: float = TOLERANCE,
) -> Verdict:
    """Compare two greedy texts and, at their first difference, what both engines thought there."""
    for at, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a == b:
            continue
        absent = -math.inf
        gap = max(
            our_rows[at].get(a, absent) - our_rows[at].get(b, absent),
            their_rows[at].get(b, absent) - their_rows[at].get(a, absent),
        )
        gap = math.inf if math.isnan(gap) else gap
        return Verdict("tie" if gap <= tolerance else "different", at, gap)
    if len(ours) != len(theirs):
        return Verdict("different", min(len(ours), len(theirs)), math.inf)
    return Verdict("equal", len(ours))


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return one line: how many are equal, near-ties and different, and the gaps."""
    kinds = [v.kind for v in verdicts]
    gaps = sorted(v.gap for v in verdicts if v.kind != "equal")
    line = f"{kinds.count('equal')} equal, {kinds.count('tie')} near-ties, "
    line += f"{kinds.count('different')} different of {len(kinds)}"
    if gaps:
        line += f"; gaps in nats: {', '.join(f'{gap:.3f}' for gap in gaps[:8])}"
        line += " ..." if len(gaps) > 8 else ""
    return line


def table(rows: Sequence[Mapping[int, object]]) -> list[dict[int, float]]:
    """Return vLLM's logprobs of one answer as plain rows."""
    return [{token: float(each.logprob) for token, each in row.items()} for row in rows]  # type: ignore[attr-defined]
