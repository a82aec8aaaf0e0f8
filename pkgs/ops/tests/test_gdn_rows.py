"""Which state each row of a step starts from, as the V2 runner tells the DeltaNet layers (0243)."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

pytest.importorskip("vllm")
from gdn_rows import Row, make_builder, metadata

pytestmark = [pytest.mark.engine, pytest.mark.slow]

VERIFY, FEWER, BARE = Row(4, 3, accepted=2), Row(2, 1, accepted=3), Row(1, accepted=4)
FIRST, CHUNK = Row(7, before=0, prefilling=True), Row(5, prefilling=True)
TAIL = Row(1, prefilling=True)  # the last token of a prompt


def slots(place: int) -> list[int]:
    return list(range(place * 4 + 1, place * 4 + 5))


@pytest.mark.parametrize(
    "batch",
    [
        [BARE],
        [BARE, BARE],
        [VERIFY, BARE],
        [VERIFY, FEWER, BARE, BARE],
        [BARE, FIRST],
        [VERIFY, BARE, TAIL, CHUNK, FIRST],
        [TAIL, BARE],
    ],
)
def test_every_decode_starts_from_its_accepted_state(batch: list[Row]) -> None:
    """And every row of a prompt from its first, which holds the only one."""
    found = metadata(batch, 3)
    decodes = [place for place, row in enumerate(batch) if not row.prefilling]
    prompts = [place for place, row in enumerate(batch) if row.prefilling]
    assert found.spec_state_indices_tensor.tolist() == [slots(place) for place in decodes]
    assert found.num_accepted_tokens.tolist() == [batch[place].accepted for place in decodes]
    lengths = found.spec_query_start_loc.diff().tolist()
    assert lengths == [batch[place].tokens for place in decodes]
    assert found.num_prefills == len(prompts) and found.num_decodes == 0
    if prompts:
        assert found.non_spec_state_indices_tensor.tolist() == [slots(p)[0] for p in prompts]
        assert found.has_initial_state.tolist() == [batch[p].before > 0 for p in prompts]


@pytest.mark.parametrize("batch", [[TAIL], [TAIL, TAIL], [CHUNK], [FIRST]])
def test_a_prompt_is_never_taken_for_drafts(batch: list[Row]) -> None:
    found = metadata(batch, 3)
    assert found.num_spec_decodes == 0 and found.spec_state_indices_tensor is None
    first = [slots(place)[0] for place in range(len(batch))]
    assert found.non_spec_state_indices_tensor.tolist() == first


def test_without_speculation_nothing_changes() -> None:
    found = metadata([Row(1), Row(1)], 0)
    assert (found.num_decodes, found.num_spec_decodes) == (2, 0)
    assert found.non_spec_state_indices_tensor.tolist() == [1, 2]


def capture(tokens: int, requests: int, builder: Any) -> Any:
    """Return what vLLM captures for a graph of requests with so many tokens each."""
    import torch
    from vllm.v1.attention.backend import CommonAttentionMetadata

    starts = torch.arange(0, requests * tokens + 1, tokens, dtype=torch.int32)
    return builder.build_for_cudagraph_capture(
        CommonAttentionMetadata(
            query_start_loc=starts,
            query_start_loc_cpu=starts,
            seq_lens=torch.full((requests,), tokens, dtype=torch.int32),
            num_reqs=requests,
            num_actual_tokens=requests * tokens,
            max_query_len=tokens,
            max_seq_len=tokens,
            block_table_tensor=torch.zeros(requests, 4, dtype=torch.int32),
            slot_mapping=torch.zeros(requests * tokens, dtype=torch.int64),
        )
    )


@pytest.mark.parametrize(("row", "tokens"), [(VERIFY, 4), (FEWER, 2), (BARE, 1)])
def test_a_full_graph_replays_what_was_captured(row: Row, tokens: int) -> None:
    """The same tensors, with two requests of four; the padded ones have the null slot."""
    builder = make_builder(3, full_graphs=True)
    captured = capture(tokens, 4, builder)
    replayed = metadata([row, row], 3, graph=4, builder=builder)
    for name in ("spec_state_indices_tensor", "num_accepted_tokens", "spec_query_start_loc"):
        ours, theirs = getattr(replayed, name), getattr(captured, name)
        assert ours.shape == theirs.shape and ours.data_ptr() == theirs.data_ptr(), name
    assert replayed.spec_state_indices_tensor.tolist() == [slots(0), slots(1), [0] * 4, [0] * 4]
    assert replayed.num_accepted_tokens.tolist() == [row.accepted, row.accepted, 1, 1]
    assert replayed.spec_query_start_loc.diff().tolist() == [tokens, tokens, 0, 0]


def test_a_row_without_drafts_is_in_no_full_graph_of_verify_steps() -> None:
    """A full graph is for equal rows: beside a verify step's row, a shorter one has none."""
    from vllm.v1.worker.utils import get_uniform_decode_token_count as uniform

    assert uniform(2, 8, 4, False) == 4
    assert uniform(2, 5, 4, False) is None
    assert uniform(2, 2, 1, False) == 1
