"""A batch over a random int8 or int4 cache, what attention over it must give, and a torch FA.

Cache bytes are random, so every value of a word and every zero point occurs; expected results come
from the bytes by plain torch, and from vLLM's own transform for an int4 cache.
"""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from qwen3090_ops.attention import reference
from qwen3090_ops.attention.formats import Format
from qwen3090_ops.attention.prefill import Flash

DIM = 32  # the least that vLLM gives a head


def flash(scale: float) -> Flash:
    """Return FlashAttention in plain torch, fp32 inside, that refuses rows without keys."""

    def attend(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        *,
        starts: torch.Tensor,
        ends: torch.Tensor,
        longest: int,
        most: int,
        causal: bool,
    ) -> torch.Tensor:
        for part in (q, k, v, out):
            assert part.dtype == out.dtype and part.stride(-1) == 1
        assert starts.dtype == ends.dtype == torch.int32
        assert starts[-1] == q.shape[0] and ends[-1] == k.shape[0] and starts[0] == ends[0] == 0
        assert longest == starts.diff().max() and most == ends.diff().max() and ends.diff().min()
        sums = torch.empty(q.shape[1], q.shape[0])
        group = q.shape[1] // k.shape[1]
        for request in range(starts.shape[0] - 1):
            rows = slice(*starts[request : request + 2].tolist())
            seen = slice(*ends[request : request + 2].tolist())
            keys = k[seen].float().repeat_interleave(group, 1)
            values = v[seen].float().repeat_interleave(group, 1)
            scores = torch.einsum("thd,shd->hts", q[rows].float(), keys) * scale
            if causal:
                count, length = scores.shape[1:]
                hidden = torch.ones(count, length).triu(length - count + 1).bool()
                scores = scores.masked_fill(hidden, float("-inf"))
            sums[:, rows] = scores.logsumexp(-1)
            out[rows] = torch.einsum("hts,shd->thd", scores.softmax(-1), values).to(out.dtype)
        return sums

    return attend


@dataclass
class Made:
    """One batch: raw q, k, v of the new tokens and the cache with everything before them.

    Attributes:
        q: [tokens, query heads, dim]; k, v: [tokens, KV heads, dim].
        cache: int8 or uint8 [blocks, KV heads, block size, bytes] with vLLM's NHD strides, its
            blocks padded at their ends.
        table: int32 [requests, blocks a request], blocks in random order.
        counts: new tokens of each request; starts and lengths as vLLM's metadata has them.
    """

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    cache: torch.Tensor
    table: torch.Tensor
    counts: list[int]
    starts: torch.Tensor
    lengths: torch.Tensor
    form: Format

    @property
    def kv_heads(self) -> int:
        return int(self.k.shape[1])

    @property
    def raw(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.q, self.k, self.v

    def stored(self, request: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cached K and V [length, KV heads, dim] of a request as they are stored."""
        place = torch.arange(int(self.lengths[request]))
        page = self.cache.shape[2]
        rows = self.cache.transpose(1, 2)[self.table[request][place // page].long(), place % page]
        half = rows.shape[-1] // 2
        return tuple(decode(side, self.form) for side in (rows[..., :half], rows[..., half:]))

    def slots(self) -> torch.Tensor:
        """Return where vLLM stores the new tokens: block x block size + place in it."""
        page, found = self.cache.shape[2], []
        for request, count in enumerate(self.counts):
            end = int(self.lengths[request])
            place = torch.arange(end - count, end)
            found.append(self.table[request][place // page].long() * page + place % page)
        return torch.cat(found)

    def expected(self, cached: Collection[int] = ()) -> torch.Tensor:
        """Return the attention of all new tokens, fp32: context from the cache, the rest raw.

        Args:
            cached: requests whose new tokens too are read from the cache.
        """
        found = torch.empty(self.q.shape)
        for request, count in enumerate(self.counts):
            begin = int(self.starts[request])
            part = slice(begin, begin + count)
            context = int(self.lengths[request]) - (0 if request in cached else count)
            new = slice(part.stop if request in cached else begin, part.stop)
            sides = [
                torch.cat([model_space(stored[:context], self.form), raw[new].float()])[None]
                for stored, raw in zip(self.stored(request), (self.k, self.v), strict=True)
            ]
            found[part] = reference.attend(
                self.q[part],
                *sides,
                torch.zeros(1, 1, dtype=torch.int32),
                self.lengths[request : request + 1],
                torch.tensor([0, count]),
                DIM**-0.5,
            )
        return found


def decode(side: torch.Tensor, form: Format) -> torch.Tensor:
    """Return the values [..., dim] of bytes [..., dim / 8 * bits + 4]: data, then an fp32 scale."""
    data, scale = side[..., :-4].contiguous(), side[..., -4:].contiguous().view(torch.int32)
    if form.values == 4:
        return data.view(torch.int8).float() * scale.view(torch.float32)
    data = data.view(torch.uint8)
    nibbles = torch.stack([data & 15, data >> 4], dim=-1).flatten(-2)
    return (nibbles.float() - (scale & 15)) * (scale & -16).view(torch.float32)


def model_space(stored: torch.Tensor, form: Format) -> torch.Tensor:
    """Return stored K or V as the model's: an int4 cache holds them transformed."""
    from vllm.v1.attention.ops.int4_per_token_head import single_rht

    return single_rht(stored, inverse=True) / stored.shape[-1] if form.rotated else stored


def make(
    rows: list[tuple[int, int]],
    form: Format,
    *,
    page: int,
    group: int = 3,
    kv_heads: int = 2,
    dtype: torch.dtype = torch.float32,
) -> Made:
    """Return a batch of requests with (context, new) tokens each."""
    torch.manual_seed(sum(map(sum, rows)) + page)
    counts = [new for _, new in rows]
    lengths = torch.tensor([sum(row) for row in rows], dtype=torch.int32)
    widest = -(-int(lengths.max()) // page)
    blocks = len(rows) * widest + 1
    size = 2 * (4 * DIM // form.values + 4)
    data = torch.randint(0, 256, (blocks, page * kv_heads * size + 64), dtype=torch.uint8)
    cache = data[:, : page * kv_heads * size].unflatten(1, (page, kv_heads, size)).transpose(1, 2)
    scales = torch.rand(2, blocks, kv_heads, page) * (0.02 if form.values == 4 else 0.8)
    zero_points = torch.randint(0, 16, scales.shape, dtype=torch.int32)
    bits = scales.view(torch.int32)
    if form.rotated:
        bits = (bits & -16) | zero_points
    for side, end in ((0, size // 2), (1, size)):
        cache[..., end - 4 : end] = bits[side].contiguous().view(torch.uint8).unflatten(-1, (-1, 4))
    if form.values == 4:
        cache = cache.view(torch.int8)
    order = torch.randperm(len(rows) * widest) + 1
    tokens = sum(counts)
    return Made(
        q=torch.randn(tokens, group * kv_heads, DIM, dtype=dtype),
        k=torch.randn(tokens, kv_heads, DIM, dtype=dtype),
        v=torch.randn(tokens, kv_heads, DIM, dtype=dtype),
        cache=cache,
        table=order.view(len(rows), widest).to(torch.int32),
        counts=counts,
        starts=torch.tensor([0, *counts]).cumsum(0).to(torch.int32),
        lengths=lengths,
        form=form,
    )
