"""Compares what bench.py saved for a prepared checkpoint and for its dense twin.

usage: compare.py PREPARED.pt DENSE.pt

Prints the largest error of each layer's answer, and for the forced prompts the difference of log
probabilities, how often both have the same best token, and how near the ties are where they do
not. Exit status 1 when an error is larger than rounding explains.
"""

import sys
from typing import Any

import torch

LAYER = 0.02  # of the largest value: bf16 scales, and products in another order
TIE = 0.25  # log probability between the two best where the best token differs


def layers(ours: dict[str, Any], dense: dict[str, Any]) -> bool:
    ok = True
    if "draft logits" in ours:
        rows = ours["draft logits"]
        drafted = rows[0].isfinite()
        head = ours["head"]
        same = bool((rows.isfinite() == drafted).all())
        gap = (rows[:, drafted] - head[:, drafted]).abs().max() / head.abs().max()
        top = rows.argmax(-1)
        print(
            f"draft logits: {int(drafted.sum())} finite columns in every row: {same}; "
            f"farthest from the whole head {gap:.2e} of its largest value; "
            f"top tokens equal the argmax: {torch.equal(top.float(), ours['draft top'].flatten())}"
        )
        ok &= same and float(gap) < LAYER and torch.equal(top.float(), ours["draft top"].flatten())
    for name in sorted(ours.keys() & dense.keys() - {"forced", "draft logits", "draft top"}):
        mine, reference = ours[name], dense[name]
        gap = (mine - reference).abs().max() / reference.abs().max()
        norm = (mine - reference).norm() / reference.norm()
        print(f"{name}: largest error {gap:.2e} of the largest value, relative norm {norm:.2e}")
        ok &= float(gap) < LAYER and bool(mine.isfinite().all())
    return ok


def forced(ours: list[Any], dense: list[Any]) -> bool:
    gaps = torch.tensor([abs(a[0] - b[0]) for a, b in zip(ours, dense, strict=True)])
    ties = [
        min(row[1][0][0] - row[1][1][0] for row in pair)
        for pair in zip(ours, dense, strict=True)
        if pair[0][1][0][1] != pair[1][1][0][1]
    ]
    print(
        f"forced: {len(gaps)} positions, log probability differs by {gaps.mean():.4f} on average, "
        f"{gaps.max():.4f} at most; best token differs at {len(ties)}, there the two best are "
        f"{max(ties, default=0.0):.4f} apart at most"
    )
    return bool(gaps.isfinite().all()) and max(ties, default=0.0) < TIE


def main() -> int:
    ours, dense = (torch.load(path) for path in sys.argv[1:3])
    ok = layers(ours, dense)
    if "forced" in ours and "forced" in dense:
        ok &= forced(ours["forced"], dense["forced"])
    else:
        print("forced: missing")
        ok = False
    print("compare:", "within rounding" if ok else "LARGER THAN ROUNDING")
    return int(not ok)


if __name__ == "__main__":
    sys.exit(main())
