"""Compares what engines with different caches said of the same prompts: for quality.py."""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pkgs/ops/tests/support"))
EDGES = (0, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144)
Json = dict[str, Any]


def divergence(base: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return KL(base ‖ other) in nats of each row of logits [rows, vocabulary]."""
    where = "cuda" if torch.cuda.is_available() else "cpu"
    parts = []
    for a, b in zip(base.split(64), other.split(64), strict=True):
        p, q = (each.to(where).float().log_softmax(-1) for each in (a, b))
        parts.append((p.exp() * (p - q)).sum(-1).cpu())
    return torch.cat(parts)


def forced(number: int, base: Json, other: Json) -> bool:
    """Print one prompt by depth; return whether every figure is finite."""
    away = (base["chosen"] - other["chosen"]).abs()
    drift = other["chosen"] - base["chosen"]
    same, gap = base["best"] == other["best"], base["gap"]
    apart = divergence(base["logits"], other["logits"])
    rows = torch.arange(len(apart)) * base["every"]
    for low, high in pairwise(EDGES):
        part, some = slice(low, high), (rows >= low) & (rows < high)
        if not len(away[part]) or not some.any():
            continue
        parted = gap[part][~same[part]]
        print(
            f"  prompt {number}, {low:6}-{min(high, len(away)):6} | KL {apart[some].mean():.2e} "
            f"mean {apart[some].quantile(0.99):.2e} at 99 % {apart[some].max():.2e} most | best "
            f"token equal {100 * same[part].float().mean():6.2f} %"
            f"{f', else a tie within {parted.max():.3f}' if len(parted) else ''} | next token "
            f"{away[part].mean():.4f} mean {away[part].max():.3f} most, drift "
            f"{drift[part].mean():+.5f}",
            flush=True,
        )
    return bool(away.isfinite().all() and apart.isfinite().all())


def text(base: Json, other: Json) -> bool:
    """Print how far two greedy texts agree, and the log probabilities up to there."""
    from greedy import compare

    verdict = compare(base["tokens"], other["tokens"], base["rows"], other["rows"])
    upto = verdict.at + (verdict.kind != "equal")
    away = torch.tensor(
        [
            abs(a[token] - b[token])
            for token, a, b in zip(base["tokens"], base["rows"], other["rows"], strict=True)
            if token in b
        ][:upto]
    )
    print(
        f"  text after {base['depth']} tokens | {verdict.kind}"
        f"{f' at {verdict.at}, gap {verdict.gap:.3f}' if verdict.kind != 'equal' else ''} of "
        f"{len(base['tokens'])} | its tokens {away.mean():.4f} mean {away.max():.3f} most",
        flush=True,
    )
    return bool(away.isfinite().all())


def report(files: list[Path]) -> int:
    """Compare each file with the first; return the exit status."""
    base, ok = torch.load(files[0]), True
    for file in files[1:]:
        other = torch.load(file)
        if base["prompts"] != other["prompts"]:
            print(f"{file}: other prompts than {files[0]}: ask both with the same options")
            ok = False
            continue
        print(
            f"QUALITY {other['name']} ({other['cache']}, chunks of {other['chunk']}) against "
            f"{base['name']} ({base['cache']}, chunks of {base['chunk']}); nats"
        )
        for number, pair in enumerate(zip(base["forced"], other["forced"], strict=True)):
            ok &= forced(number, *pair)
        there = {each["depth"]: each for each in other["text"]}
        for each in base["text"]:
            if each["depth"] in there:
                ok &= text(each, there[each["depth"]])
    print("QUALITY compare:", "all finite" if ok else "FAILED", flush=True)
    return int(not ok)
