"""A decode step without drafts goes on from the last accepted state (patch 0243).

vLLM's V2 runner describes each step (support/gdn_rows), and its Triton kernels run what it says.
Whatever was drafted and accepted, every token's output is that of decoding one token after the
other with a single state.
"""

import functools
import random
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

pytest.importorskip("vllm")
from gdn_conv import convolve
from gdn_rows import Row, metadata
from vllm.third_party.flash_linear_attention.ops.fused_sigmoid_gating import (
    fused_sigmoid_gating_delta_rule_update,
)

HEADS, VALUE_HEADS, DIM, WINDOW = 1, 2, 16, 4
CHANNELS = (2 * HEADS + VALUE_HEADS) * DIM
DRAFTS, REQUESTS, LENGTH = 3, 2, 12


class Inputs(NamedTuple):
    """What the projections give a layer: x [tokens, channels], a and b [tokens, value heads]."""

    x: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor


class Layer:
    """A DeltaNet layer's kernels and its states."""

    def __init__(self, drafts: int, slots: int) -> None:
        torch.manual_seed(1)
        self.weight = torch.randn(CHANNELS, WINDOW)
        self.decay = torch.rand(VALUE_HEADS)
        self.drafts = drafts
        self.windows = torch.zeros(slots, WINDOW - 1 + drafts, CHANNELS)
        self.states = torch.zeros(slots, VALUE_HEADS, DIM, DIM)

    def run(
        self, given: Inputs, table: torch.Tensor, starts: torch.Tensor, accepted: torch.Tensor
    ) -> torch.Tensor:
        """Return [tokens, value heads * dim] of rows that are verified drafts."""
        slots = table[:, 0].contiguous()
        mixed = convolve(given.x, self.weight, self.windows, slots, accepted, starts, self.drafts)
        q, k, v = mixed.split([HEADS * DIM, HEADS * DIM, VALUE_HEADS * DIM], dim=-1)
        out, _ = fused_sigmoid_gating_delta_rule_update(
            A_log=self.decay,
            a=given.a,
            b=given.b,
            dt_bias=torch.zeros(VALUE_HEADS),
            q=q.unflatten(-1, (-1, DIM)).unsqueeze(0),
            k=k.unflatten(-1, (-1, DIM)).unsqueeze(0),
            v=v.unflatten(-1, (-1, DIM)).unsqueeze(0),
            initial_state=self.states,
            cu_seqlens=starts,
            ssm_state_indices=table,
            num_accepted_tokens=accepted,
            use_qk_l2norm_in_kernel=True,
        )
        return out.reshape(len(given.x), -1)


def text(request: int) -> Inputs:
    generator = torch.Generator().manual_seed(request)
    widths = (CHANNELS, VALUE_HEADS, VALUE_HEADS)
    return Inputs(*(torch.randn(LENGTH, width, generator=generator) for width in widths))


@functools.cache
def one_by_one(request: int) -> torch.Tensor:
    given = text(request)
    layer = Layer(0, 2)
    one = torch.ones(1, dtype=torch.int32)
    starts = torch.tensor([0, 1], dtype=torch.int32)
    steps = zip(*(part.split(1) for part in given), strict=True)
    return torch.cat([layer.run(Inputs(*step), one[None], starts, one) for step in steps])


@pytest.mark.parametrize("seed", range(2))
def test_every_output_is_that_of_decoding_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    texts = [text(request) for request in range(REQUESTS)]
    expected = [one_by_one(request) for request in range(REQUESTS)]
    layer = Layer(DRAFTS, REQUESTS * (DRAFTS + 1) + 1)
    done, accepted, bare = [0] * REQUESTS, [1] * REQUESTS, 0
    while min(done) + DRAFTS < LENGTH:
        drafts = [min(rng.choice([0, 0, 1, DRAFTS]), LENGTH - 1 - at) for at in done]
        live = [r for r in range(REQUESTS) if done[r] < LENGTH]
        rows = [Row(drafts[r] + 1, drafts[r], done[r] + 5, accepted[r]) for r in live]
        table = torch.arange(1, REQUESTS * (DRAFTS + 1) + 1, dtype=torch.int32)
        found = metadata(rows, DRAFTS, table.view(REQUESTS, -1)[live])
        assert found.num_spec_decodes == len(live), "a row does not ask for its accepted state"
        right = {r: rng.randint(0, drafts[r]) for r in live}
        parts = []
        for r in live:
            keep, end = done[r] + right[r] + 1, done[r] + drafts[r] + 1
            parts.append([part[done[r] : end].clone() for part in texts[r]])
            for part in parts[-1]:
                part[keep - done[r] :] = 9.0  # rejected drafts are other tokens
        given = Inputs(*(torch.cat(column) for column in zip(*parts, strict=True)))
        out = layer.run(
            given,
            found.spec_state_indices_tensor,
            found.spec_query_start_loc,
            found.num_accepted_tokens,
        )
        for r, rows_out in zip(live, out.split([row.tokens for row in rows]), strict=True):
            count = right[r] + 1
            torch.testing.assert_close(rows_out[:count], expected[r][done[r] : done[r] + count])
            bare += drafts[r] == 0 and accepted[r] > 1
            done[r], accepted[r] = done[r] + count, count
    assert bare
