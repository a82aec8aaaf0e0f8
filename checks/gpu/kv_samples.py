"""Keys, values and queries to measure a cache format with, and exact attention over them.

Shapes are the published model's: 24 query and 4 KV heads of 256, the 8 query tokens last.

``normal``   all unit normal: every token of the context counts about the same.
``outliers`` keys as trained models have them (KIVI, arXiv 2402.02750, and KVQuant, arXiv
             2401.18079, describe such caches): per KV head a scale for each channel,
             exp(0.5 n), and 4 channels of 256 with a constant of 12 beside noise of 1; then
             normalised to a root mean square of 1, as the model's key norm does, and turned by
             its rotary embedding (the first 64 channels, base 10,000,000). Values have a scale for
             each channel, exp(0.5 n), and for each token, exp(0.5 n), no outlier channels.
             Queries are normal: diffuse attention again.
``peaked``   the same caches; each query head of each token looks for one token of the context,
             anywhere: that score stands ln(length) + 2 above the mean score, so that this one
             token gets most of the weight.
"""

import math
from dataclasses import dataclass

import torch

HEADS, KV_HEADS, DIM, TOKENS = 24, 4, 256, 8
SCALE = DIM**-0.5
ROTARY, BASE = 64, 10_000_000.0
KINDS = ("normal", "outliers", "peaked")


@dataclass(frozen=True)
class Sample:
    """bf16 (fp32 on a CPU): q [8, 24, 256]; key and value [length, 4, 256]."""

    q: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor


def sample(kind: str, length: int, device: str, seed: int = 1) -> Sample:
    """Return one of ``KINDS`` with ``length`` tokens, the 8 query tokens' own included."""
    random = torch.Generator(device).manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random, device=device)

    q, key = normal(TOKENS, HEADS, DIM), normal(length, KV_HEADS, DIM)
    value = normal(length, KV_HEADS, DIM)
    if kind != "normal":
        key *= (0.5 * normal(KV_HEADS, DIM)).exp()
        for head in range(KV_HEADS):
            places = torch.randperm(DIM, generator=random, device=device)[:4]
            key[:, head, places] += 12.0 * normal(4).sign()
        key = _rotated(key / key.square().mean(-1, keepdim=True).sqrt())
        value *= (0.5 * normal(KV_HEADS, DIM)).exp()
        value *= (0.5 * normal(length, 1, 1)).exp()
    if kind == "peaked":
        wanted = torch.rand(TOKENS, HEADS, generator=random, device=device) * (length - TOKENS)
        of = torch.arange(HEADS, device=device) // (HEADS // KV_HEADS)
        away = key[wanted.long(), of] - key.mean(0)[of]
        norm = away.norm(dim=-1, keepdim=True)
        along = away / norm
        q -= (q * along).sum(-1, keepdim=True) * along
        q += along * ((math.log(length) + 2) / SCALE / norm)
    # Triton's interpreter multiplies no bf16
    kept = torch.float32 if device == "cpu" else torch.bfloat16
    return Sample(*(part.to(kept) for part in (q, key, value)))


def _rotated(key: torch.Tensor) -> torch.Tensor:
    """Return keys [length, heads, dim] turned by their positions (halves of the rotary part)."""
    rate = BASE ** -(torch.arange(0, ROTARY, 2, device=key.device) / ROTARY)
    angle = (torch.arange(len(key), device=key.device)[:, None] * rate)[:, None]
    a, b = key[..., :ROTARY].chunk(2, -1)
    turned = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
    return torch.cat([*turned, key[..., ROTARY:]], -1)


def exact(q: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Return causal attention in fp64, [8, 24, 256]; key and value of any type."""
    group, length = HEADS // KV_HEADS, len(key)
    last = length - TOKENS + torch.arange(TOKENS, device=q.device)
    later = torch.arange(length, device=q.device)[None] > last[:, None]
    parts = []
    for head in range(KV_HEADS):
        rows = q[:, head * group : (head + 1) * group].double()
        scores = torch.einsum("tgd,sd->gts", rows, key[:, head].double()) * SCALE
        weights = scores.masked_fill_(later, float("-inf")).softmax(-1)
        parts.append(torch.einsum("gts,sd->tgd", weights, value[:, head].double()))
    return torch.cat(parts, 1)


@dataclass(frozen=True)
class Error:
    """How far an answer is from the right one; a row is one head of one query token.

    Attributes:
        relative: norm of the difference over the norm of what is right, all rows at once.
        worst: the largest such of one row.
        most: the largest difference of one value, over the largest value.
        cosine: the mean over the rows; least: the smallest.
    """

    relative: float
    worst: float
    most: float
    cosine: float
    least: float

    def __str__(self) -> str:
        return (
            f"relative {self.relative:.2e}, of one head at most {self.worst:.2e}, of one value "
            f"at most {self.most:.2e}, cosine {self.cosine:.6f}, least {self.least:.6f}"
        )


def error(found: torch.Tensor, right: torch.Tensor) -> Error:
    """Compare two answers [8, 24, 256]."""
    found, right = found.double(), right.double()
    away = found - right
    rows = away.norm(dim=-1) / right.norm(dim=-1)
    cosine = torch.nn.functional.cosine_similarity(found, right, dim=-1)
    return Error(
        float(away.norm() / right.norm()),
        float(rows.max()),
        float(away.abs().max() / right.abs().max()),
        float(cosine.mean()),
        float(cosine.min()),
    )
