"""The split attention of a verify step equals plain torch, whatever the lengths and layouts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090_ops.attention import reference
from qwen3090_ops.attention.scratch import MOST_SEGMENTS, Scratch, segments
from qwen3090_ops.attention.split import attend

DIM = 16


def cache(blocks: int, page: int, kv_heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return K and V as vLLM lays them out: content packed K|V, heads between, a view each."""
    packed = torch.randn(blocks, kv_heads, page, 2 * DIM).permute(0, 2, 1, 3).contiguous()
    key, value = packed.split(DIM, dim=-1)
    assert not key.is_contiguous()
    return key, value


def check(
    lengths: list[int],
    counts: list[int],
    *,
    page: int,
    group: int = 6,
    kv_heads: int = 2,
    multiprocessors: int = 8,
    seats: int | None = None,
) -> None:
    """Compare one batch; the cache's blocks are in random order, unused ones hold NaN."""
    torch.manual_seed(sum(lengths) + page)
    heads, requests = group * kv_heads, len(lengths)
    widest = -(-max(lengths) // page)
    key, value = cache(requests * widest + 1, page, kv_heads)
    order = torch.randperm(requests * widest) + 1
    table = order.view(requests, widest).to(torch.int32)
    key[0] = value[0] = float("nan")
    for row, length in zip(table, lengths, strict=True):
        for index, block in enumerate(row.tolist()):
            kept = max(0, min(page, length - index * page))
            key[block, kept:] = value[block, kept:] = float("nan")
    q = torch.randn(sum(counts), heads, DIM)
    length_of = torch.tensor(lengths, dtype=torch.int32)
    starts = torch.tensor([0, *counts]).cumsum(0).to(torch.int32)
    scratch = Scratch.make(
        requests=seats or requests,
        tokens=max(counts),
        heads=heads,
        kv_heads=kv_heads,
        dim=DIM,
        multiprocessors=multiprocessors,
        device=q.device,
    )
    scratch.partial.fill_(float("nan"))
    scratch.weights.fill_(float("nan"))
    out = torch.full_like(q, float("nan"))
    attend(
        q,
        key,
        value,
        table,
        length_of,
        starts,
        out,
        scale=DIM**-0.5,
        tokens=max(counts),
        scratch=scratch,
        multiprocessors=multiprocessors,
    )
    expected = reference.attend(q, key, value, table, length_of, starts, DIM**-0.5)
    torch.testing.assert_close(out, expected, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("page", [16, 48, 432, 480])
def test_lengths_around_a_block(page: int) -> None:
    for length in (page - 1, page, page + 1):
        check([length], [5], page=page)


@pytest.mark.parametrize("tokens", [1, 2, 8, 16, 21, 22, 32, 64])
def test_numbers_of_query_tokens(tokens: int) -> None:
    check([tokens + 70], [tokens], page=48)


def test_a_prompt_that_is_its_own_cache() -> None:
    check([8], [8], page=16)


def test_ragged_requests() -> None:
    check([100, 5, 64], [5, 1, 3], page=32)


def test_more_segments_than_tiles_and_a_larger_scratch() -> None:
    check([40], [4], page=16, multiprocessors=132, seats=4)


@pytest.mark.parametrize("parts", [1, 3, 5, 19])
def test_any_number_of_segments(parts: int) -> None:
    check([19 * 32], [5], page=48, multiprocessors=parts)  # two programs each, two KV heads


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_random_batches(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    lengths = [count + data.draw(st.integers(0, 150)) for count in counts]
    check(
        lengths,
        counts,
        page=16 * data.draw(st.integers(1, 6)),
        group=data.draw(st.sampled_from([1, 3, 6, 8])),
        multiprocessors=data.draw(st.sampled_from([1, 8, 82])),
    )


def test_segments_fill_the_card_and_are_bounded() -> None:
    assert segments(1, 4, 82) == 41 and segments(8, 4, 82) == 5  # 164 and 160 programs for 82
    assert segments(1, 4, 10_000) == MOST_SEGMENTS and segments(64, 4, 82) == 1


def test_a_batch_beyond_the_scratch_is_refused() -> None:
    with pytest.raises(ValueError, match="9 query tokens; the scratch is for 8"):
        check_tokens(9, 8)


def check_tokens(tokens: int, most: int) -> None:
    """Attend with ``tokens`` query tokens and a scratch for ``most``."""
    key, value = cache(2, 16, 1)
    q = torch.randn(tokens, 6, DIM)
    scratch = Scratch.make(
        requests=1,
        tokens=most,
        heads=6,
        kv_heads=1,
        dim=DIM,
        multiprocessors=8,
        device=q.device,
    )
    one = torch.ones(1, dtype=torch.int32)
    attend(
        q,
        key,
        value,
        one[:, None],
        one * tokens,
        torch.tensor([0, tokens], dtype=torch.int32),
        q.clone(),
        scale=1.0,
        tokens=tokens,
        scratch=scratch,
        multiprocessors=8,
    )
