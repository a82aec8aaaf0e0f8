"""Attention over int8 and int4 caches that vLLM's own kernels wrote equals plain torch."""

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090_ops.attention import reference
from qwen3090_ops.attention.formats import INT4, INT8, Format, unrotate, words
from qwen3090_ops.attention.quantized import attend_words
from qwen3090_ops.attention.scratch import Scratch
from qwen3090_ops.attention.split import Shape
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
    triton_reshape_and_cache_flash_per_token_head_quant,
)
from vllm.v1.kv_cache_interface import get_kv_quant_mode

BOTH = [INT8, INT4]
WRITTEN = 64
"""Tokens that vLLM's kernels write for one cache; each of its places holds a copy of one."""


def empty(form: Format, blocks: int, page: int, kv_heads: int, dim: int) -> torch.Tensor:
    """Return a cache as vLLM hands it to a layer, every word's bits those of a NaN."""
    shape = TritonAttentionBackend.get_kv_cache_shape(blocks, page, kv_heads, dim, form.cache_dtype)
    kind = torch.int8 if form is INT8 else torch.uint8
    cache = torch.full(shape, -1, dtype=torch.int8).view(kind)
    return cache.transpose(1, 2).contiguous().transpose(1, 2)  # physically NHD


@cache
def written(form: Format, kv_heads: int, dim: int) -> torch.Tensor:
    """Return the words [tokens, KV heads, words] of tokens that vLLM's store kernels wrote."""
    made = empty(form, 1, WRITTEN, kv_heads, dim)
    content = made.transpose(1, 2)
    half, scales = content.shape[-1] // 2, words(made).view(torch.float32)
    side = scales.shape[-1] // 2
    key, value = torch.randn(2, WRITTEN, kv_heads, dim) * torch.rand(2, WRITTEN, kv_heads, 1)
    triton_reshape_and_cache_flash_per_token_head_quant(
        key,
        value + 0.3,
        content[..., : half - 4],
        content[..., half : 2 * half - 4],
        scales[..., side - 1],
        scales[..., 2 * side - 1],
        torch.arange(WRITTEN),
        get_kv_quant_mode(form.cache_dtype),
    )
    stored = reference.dequantize(words(made), form)
    for found, given_ in zip(stored, (key, value + 0.3), strict=True):
        back = unrotate(found[0]) if form.rotated else found[0]
        assert (back - given_).norm() < (0.12 if form.rotated else 0.01) * given_.norm()
    return words(made)[0]


def check(
    form: Format,
    lengths: list[int],
    counts: list[int],
    *,
    page: int,
    group: int = 6,
    kv_heads: int = 2,
    dim: int = 32,
    multiprocessors: int = 8,
    seats: int | None = None,
    shape: Shape | None = None,
    dtype: torch.dtype = torch.float32,
    spread: float = 0.0,
) -> None:
    """Compare one batch; blocks are in random order, and what nobody wrote reads as NaN.

    The scales of values are multiplied by 10 to the power of up to ``spread``, either way; queries
    of a 16-bit ``dtype`` make products of fp16, those of fp32 exact ones.
    """
    torch.manual_seed(sum(lengths) + page)
    heads, requests = group * kv_heads, len(lengths)
    widest = -(-max(lengths) // page)
    filled = words(empty(form, requests * widest + 1, page, kv_heads, dim))
    table = (torch.randperm(requests * widest) + 1).view(requests, widest).to(torch.int32)
    for row, length in zip(table.long(), lengths, strict=True):
        place = torch.arange(length)
        slots = row[place // page] * page + place % page
        source = written(form, kv_heads, dim)
        copied = source[torch.randint(WRITTEN, (length,))]
        factors = 10 ** ((2 * torch.rand(length, 1) - 1) * spread)
        zero_points = copied[..., -1] & 15 if form.rotated else 0
        scaled = (copied[..., -1:].view(torch.float32)[..., 0] * factors).view(torch.int32)
        copied[..., -1] = scaled & -16 | zero_points if form.rotated else scaled
        filled[slots // page, slots % page] = copied
    q = torch.randn(sum(counts), heads, dim).to(dtype)
    scratch = Scratch.make(
        requests=seats or requests,
        tokens=max(counts),
        heads=heads,
        kv_heads=kv_heads,
        dim=dim,
        multiprocessors=multiprocessors,
        device=q.device,
    )
    scratch.partial.fill_(float("nan"))
    scratch.weights.fill_(float("nan"))
    out = torch.full_like(q, float("nan"))
    given_q = q.clone()
    batch = (
        table,
        torch.tensor(lengths, dtype=torch.int32),
        torch.tensor([0, *counts]).cumsum(0).to(torch.int32),
    )
    attend_words(
        q,
        filled,
        *batch,
        out,
        scale=dim**-0.5,
        tokens=max(counts),
        scratch=scratch,
        multiprocessors=multiprocessors,
        format=form,
        shape=shape,
    )
    expected = reference.attend_words(q, filled, *batch, dim**-0.5, form)
    assert torch.equal(q, given_q)
    if dtype == torch.float32:
        torch.testing.assert_close(out, expected, atol=3e-5, rtol=3e-5)
    else:
        error = (out.float() - expected).norm(dim=-1) / expected.norm(dim=-1)
        assert error.max() < 4e-3


@pytest.mark.parametrize(
    ("page", "form"), [(16, INT8), (16, INT4), (48, INT8), (432, INT4), (480, INT8)], ids=str
)
def test_lengths_around_a_block(page: int, form: Format) -> None:
    for length in (page - 1, page, page + 1):
        check(form, [length], [3], page=page, kv_heads=1)


@pytest.mark.parametrize(
    ("tokens", "form"),
    [(1, INT8), (5, INT8), (8, INT8), (22, INT8), (1, INT4), (8, INT4), (21, INT4), (64, INT4)],
    ids=str,
)
def test_numbers_of_query_tokens(tokens: int, form: Format) -> None:
    check(form, [tokens + 30], [tokens], page=48, kv_heads=1, multiprocessors=2)


@pytest.mark.parametrize(("page", "form"), [(864, INT8), (1696, INT4)], ids=str)
def test_the_published_shape(page: int, form: Format) -> None:
    check(form, [page + 4], [2], page=page, kv_heads=4, dim=256)


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("form", BOTH)
def test_products_of_16_bits_whatever_the_scales(form: Format, spread: float) -> None:
    kind = torch.float16  # the interpreter's bf16 has no products
    check(form, [150], [5], page=48, kv_heads=1, multiprocessors=1, dtype=kind, spread=spread)


@pytest.mark.parametrize("form", BOTH)
def test_a_prompt_that_is_its_own_cache(form: Format) -> None:
    check(form, [8], [8], page=16)


@pytest.mark.parametrize("form", BOTH)
def test_more_segments_than_tiles_and_a_larger_scratch(form: Format) -> None:
    check(form, [40, 5], [4, 1], page=16, multiprocessors=132, seats=4)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_random_batches(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    lengths = [count + data.draw(st.integers(0, 100)) for count in counts]
    check(
        data.draw(st.sampled_from(BOTH)),
        lengths,
        counts,
        page=16 * data.draw(st.integers(1, 4)),
        group=data.draw(st.sampled_from([1, 3, 6, 8])),
        kv_heads=data.draw(st.sampled_from([1, 2])),
        multiprocessors=data.draw(st.sampled_from([1, 3, 8])),
        shape=data.draw(st.sampled_from([None, Shape(64, 16, 4), Shape(64, 64, 4)])),
    )


def test_every_byte_and_nibble_is_read_as_what_it_is() -> None:
    words_ = torch.randint(-(2**31), 2**31, (2, 16, 1, 2 * (64 // 4 + 1)), dtype=torch.int32)
    key, _ = reference.dequantize(words_, INT8)
    scale = words_[..., 16:17].contiguous().view(torch.float32)
    raw = words_[..., :16].contiguous().view(torch.int8).float()
    torch.testing.assert_close(key, raw * scale, equal_nan=True)


def test_another_format_is_refused() -> None:
    filled = words(empty(INT8, 2, 16, 1, 32))
    q = torch.randn(1, 6, 32)
    one = torch.ones(1, dtype=torch.int32)
    scratch = Scratch.make(
        requests=1,
        tokens=1,
        heads=6,
        kv_heads=1,
        dim=32,
        multiprocessors=8,
        device=q.device,
    )
    with pytest.raises(ValueError, match="18 words a token and head are no int4 of 32 dimensions"):
        attend_words(
            q,
            filled,
            one[:, None],
            one,
            torch.tensor([0, 1], dtype=torch.int32),
            q.clone(),
            scale=1.0,
            tokens=1,
            scratch=scratch,
            multiprocessors=8,
            format=INT4,
        )
