"""The DeltaNet kernel reads the verify step's q, k and v where the convolution left them (0242).

What it computes from views of one packed row a token, and writes into the given buffer, equals
bit for bit what it computes from contiguous tensors.
"""

import pytest
import torch

pytest.importorskip("vllm")
from vllm.third_party.flash_linear_attention.ops.fused_sigmoid_gating import (
    fused_sigmoid_gating_delta_rule_update,
)

HEADS, VALUE_HEADS, DIM = 2, 6, 16
KEYS, VALUES = HEADS * DIM, VALUE_HEADS * DIM


def run(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    lengths: list[int],
    out: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (outputs [tokens, value heads, dim], states afterwards)."""
    torch.manual_seed(5)
    width, tokens = max(lengths), sum(lengths)
    slots = len(lengths) * width
    states = torch.randn(slots + 1, VALUE_HEADS, DIM, DIM)
    found, _ = fused_sigmoid_gating_delta_rule_update(
        A_log=torch.randn(VALUE_HEADS),
        a=torch.randn(tokens, VALUE_HEADS),
        b=torch.randn(tokens, VALUE_HEADS),
        dt_bias=torch.randn(VALUE_HEADS),
        q=q,
        k=k,
        v=v,
        initial_state=states,
        cu_seqlens=torch.tensor([0, *lengths]).cumsum(0),
        ssm_state_indices=1 + torch.arange(slots, dtype=torch.int32).view(len(lengths), width),
        num_accepted_tokens=torch.ones(len(lengths), dtype=torch.int32),
        use_qk_l2norm_in_kernel=True,
        out=out,
    )
    return found.squeeze(0), states


def views(rows: torch.Tensor) -> list[torch.Tensor]:
    """Return q, k, v [1, tokens, heads, dim] as views of rows that begin with them."""
    parts = rows[:, : 2 * KEYS + VALUES].split([KEYS, KEYS, VALUES], dim=-1)
    return [part.unflatten(-1, (-1, DIM)).unsqueeze(0) for part in parts]


@pytest.mark.parametrize("gap", [0, 7, VALUES], ids=["packed", "odd gap", "z behind"])
@pytest.mark.parametrize("lengths", [[1], [5], [8, 8], [4, 1, 3]])
def test_views_of_packed_rows_give_the_same_bits(lengths: list[int], gap: int) -> None:
    rows = torch.randn(
        sum(lengths), 2 * KEYS + VALUES + gap, generator=torch.Generator().manual_seed(1)
    )
    packed = views(rows)
    assert not packed[0].is_contiguous() or sum(lengths) == 1
    out = torch.full((sum(lengths), VALUE_HEADS, DIM), float("nan"))
    found, states = run(*packed, lengths=lengths, out=out)
    expected, kept = run(*(part.contiguous() for part in packed), lengths=lengths)
    assert torch.equal(found, expected) and torch.equal(states, kept)
    assert found.data_ptr() == out.data_ptr(), "the result was written elsewhere"


def test_heads_that_are_not_packed_are_copied() -> None:
    rows = torch.randn(4, 2 * KEYS + VALUES, generator=torch.Generator().manual_seed(2))
    q, k, v = views(rows)
    backwards = [part.flip(2) for part in (q, k, v)]
    strided = [torch.stack([part, part], dim=-1)[..., 0] for part in backwards]
    assert strided[0].stride(-1) != 1
    found, _ = run(*strided, lengths=[4])
    expected, _ = run(*backwards, lengths=[4])
    assert torch.equal(found, expected)


def test_a_buffer_of_another_shape_is_refused() -> None:
    q, k, v = views(torch.randn(4, 2 * KEYS + VALUES))
    with pytest.raises(AssertionError):
        run(q, k, v, lengths=[4], out=torch.empty(3, VALUE_HEADS, DIM))
