"""Prefill over a quantized cache equals plain torch: real chunks and kernels, FA in torch."""

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090_ops.attention import reference
from qwen3090_ops.attention.batches import arrange
from qwen3090_ops.attention.formats import INT4, INT8, Format, words
from qwen3090_ops.attention.prefill import CONTEXT_TOKENS, Context, prefill
from qwen3090_ops.attention.unpack import unpack

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from quantized_batch import DIM, Made, flash, make

FORMS = pytest.mark.parametrize("form", [INT8, INT4], ids=lambda form: form.name)


def run(
    made: Made, *, room: int, most: int = 0, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Return the output of all prompts of a batch; rows of no prompt stay NaN."""
    batch = arrange(
        made.starts,
        made.lengths,
        made.starts,
        longest=max(made.counts),
        widths=(most,),
        room=room,
    )
    assert batch is not None
    context = Context.make(made.kv_heads, DIM, dtype, torch.device("cpu"), room)
    context.keys.fill_(float("nan"))
    context.values.fill_(float("nan"))
    out = torch.full_like(made.q, float("nan"))
    for prompt in batch.prompts:
        prefill(
            made.q,
            made.k,
            made.v,
            words(made.cache),
            made.table,
            out,
            prompt=prompt,
            context=context,
            flash=flash(DIM**-0.5),
            form=made.form,
        )
    return out


def check(rows: list[tuple[int, int]], form: Format, *, page: int, room: int, **shape: int) -> None:
    made = make(rows, form, page=page, **shape)
    torch.testing.assert_close(run(made, room=room), made.expected(), atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize(
    ("page", "form"), [(432, INT4), (480, INT8), (864, INT8), (1696, INT4)], ids=str
)
def test_blocks_of_each_profile(page: int, form: Format) -> None:
    check([(page + 70, 4)], form, page=page, room=page // 2 + 3)


@FORMS
@pytest.mark.parametrize("context", [1, 31, 32, 33, 64, 65])
def test_contexts_around_the_end_of_a_chunk(form: Format, context: int) -> None:
    check([(context, 5)], form, page=16, room=32)


@FORMS
def test_a_context_that_fits_is_read_at_once(form: Format) -> None:
    made = make([(48, 7)], form, page=16)
    batch = arrange(made.starts, made.lengths, made.starts, longest=7, widths=(0,), room=48)
    assert batch is not None
    (chunk,) = batch.prompts[0].chunks
    assert (chunk.first, chunk.count, chunk.ends.tolist()) == (0, 48, [0, 48])


@FORMS
def test_a_first_chunk_reads_no_cache(form: Format) -> None:
    made = make([(0, 21)], form, page=16)
    expected = made.expected()
    made.table.fill_(1 << 30)
    torch.testing.assert_close(run(made, room=32), expected, atol=2e-5, rtol=2e-5)


@FORMS
def test_several_prompts_with_and_without_context(form: Format) -> None:
    check([(0, 9), (0, 13), (40, 4), (70, 5), (0, 7)], form, page=48, room=32)


@FORMS
def test_short_rows_between_prompts_are_left_alone(form: Format) -> None:
    made = make([(30, 3), (50, 9), (20, 4), (0, 8), (9, 1)], form, page=16)
    out, expected = run(made, room=32, most=4), made.expected()
    for begin, count in zip(made.starts.tolist(), made.counts, strict=False):
        part = slice(begin, begin + count)
        if count <= 4:
            assert out[part].isnan().all()
        else:
            torch.testing.assert_close(out[part], expected[part], atol=2e-5, rtol=2e-5)


# Triton's interpreter cuts fp32 off to bf16 where a GPU rounds.
@FORMS
@pytest.mark.parametrize(("dtype", "most"), [(torch.float16, 1e-3), (torch.bfloat16, 2e-2)])
def test_16_bits_lose_no_more_than_their_rounding(
    form: Format, dtype: torch.dtype, most: float
) -> None:
    made = make([(70, 12)], form, page=48, dtype=dtype)
    expected = made.expected()
    out = run(made, room=40, dtype=dtype).float()
    assert (out - expected).norm() / expected.norm() < most


@FORMS
def test_queries_that_are_a_view_of_a_wider_projection(form: Format) -> None:
    made = make([(40, 6)], form, page=16)
    wide = torch.randn(6, made.q.shape[1] + 2 * made.kv_heads, DIM)
    heads = made.q.shape[1], made.kv_heads, made.kv_heads
    for part, whole in zip(wide.split(heads, 1), (made.q, made.k, made.v), strict=True):
        part.copy_(whole)
    made.q, made.k, made.v = wide.split(heads, 1)
    torch.testing.assert_close(run(made, room=32), made.expected(), atol=2e-5, rtol=2e-5)


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_random_batches(data: st.DataObject) -> None:
    row = st.tuples(st.one_of(st.just(0), st.integers(1, 90)), st.integers(1, 9))
    check(
        data.draw(st.lists(row, min_size=1, max_size=3)),
        data.draw(st.sampled_from([INT8, INT4])),
        page=16 * data.draw(st.integers(1, 6)),
        room=data.draw(st.integers(16, 70)),
        group=data.draw(st.sampled_from([1, 3, 6])),
    )


@FORMS
def test_unpacking_writes_what_was_asked_for_alone(form: Format) -> None:
    made = make([(90, 1)], form, page=32)
    keys, values = torch.full((2, 50, made.kv_heads, DIM), float("nan"))
    unpack(words(made.cache), made.table, 0, 37, 41, keys, values, form)
    stored_keys, stored_values = made.stored(0)
    torch.testing.assert_close(keys[:41], stored_keys[37:78])
    torch.testing.assert_close(values[:41], stored_values[37:78])
    assert keys[41:].isnan().all() and values[41:].isnan().all()


def test_more_than_fits_and_another_format_are_refused() -> None:
    made = make([(90, 1)], INT8, page=32)
    keys, values = torch.empty(2, 40, made.kv_heads, DIM)
    with pytest.raises(ValueError, match="41 tokens to unpack; there is room for 40"):
        unpack(words(made.cache), made.table, 0, 0, 41, keys, values, INT8)
    with pytest.raises(ValueError, match=r"an int4 cache of \(2, 18\) heads and words"):
        unpack(words(made.cache), made.table, 0, 0, 40, keys, values, INT4)


def test_the_reference_of_this_file_is_the_one_of_split_attention() -> None:
    made = make([(30, 4)], INT8, page=16)
    keys, values = made.stored(0)
    whole = torch.cat([keys[:30], made.k])[None], torch.cat([values[:30], made.v])[None]
    table, length = torch.zeros(1, 1, dtype=torch.int32), torch.tensor([34])
    expected = reference.attend(made.q, *whole, table, length, made.starts, DIM**-0.5)
    torch.testing.assert_close(made.expected(), expected)


def test_the_plan_counts_the_unpacked_context() -> None:
    from qwen3090.plan.budget import UNPACKED_BYTES

    context = Context.make(4, 256, torch.bfloat16, torch.device("cpu"), CONTEXT_TOKENS)
    assert context.keys.nbytes + context.values.nbytes == UNPACKED_BYTES
