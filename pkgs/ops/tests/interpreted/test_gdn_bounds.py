"""The DeltaNet kernels of a speculative step never leave a request's states (patch 0241).

States lie between poisoned guard slots, and rows of state indices between others that name them:
a kernel that reads or writes a neighbour shows it in its output or in a guard.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

pytest.importorskip("vllm")
import gdn_conv
from vllm.third_party.flash_linear_attention.ops import fused_recurrent
from vllm.third_party.flash_linear_attention.ops.fused_sigmoid_gating import (
    fused_sigmoid_gating_delta_rule_update,
)

HEADS, VALUE_HEADS, DIM = 1, 2, 16
DRAFTS = 3
WIDTH = DRAFTS + 1  # state slots of a request, and tokens of its step
REQUESTS = 3
SLOTS = REQUESTS * WIDTH
POISON = float("nan")
# What makes a row invalid: (number of accepted tokens, first slot of the row or None to keep it).
INVALID = {
    "nothing accepted": (0, None),
    "negative": (-5, None),
    "one too many": (WIDTH + 1, None),
    "far too many": (WIDTH + 3, None),
    "slot -1": (1, -1),
    "null slot": (1, 0),
}
Run = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@pytest.fixture(autouse=True)
def interpretable_exp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernel look tl.exp up when it runs: the interpreter replaces it only then."""
    from triton import language

    monkeypatch.setattr(fused_recurrent, "exp", lambda x: language.exp(x))


def delta_inputs() -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    tokens = REQUESTS * WIDTH
    return {
        "q": torch.randn(1, tokens, HEADS, DIM),
        "k": torch.randn(1, tokens, HEADS, DIM),
        "v": torch.randn(1, tokens, VALUE_HEADS, DIM),
    }


def sigmoid(states: torch.Tensor, indices: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    inputs = delta_inputs()
    tokens = REQUESTS * WIDTH
    out, _ = fused_sigmoid_gating_delta_rule_update(
        A_log=torch.zeros(VALUE_HEADS),
        a=torch.randn(tokens, VALUE_HEADS),
        b=torch.randn(tokens, VALUE_HEADS),
        dt_bias=torch.zeros(VALUE_HEADS),
        **inputs,
        initial_state=states,
        cu_seqlens=torch.arange(0, tokens + 1, WIDTH),
        ssm_state_indices=indices,
        num_accepted_tokens=accepted,
        use_qk_l2norm_in_kernel=True,
    )
    return out.view(REQUESTS, WIDTH, -1)


def recurrent(states: torch.Tensor, indices: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    inputs = delta_inputs()
    tokens = REQUESTS * WIDTH
    out, _ = fused_recurrent.fused_recurrent_gated_delta_rule(
        **inputs,
        g=-torch.rand(1, tokens, VALUE_HEADS),
        beta=torch.rand(1, tokens, VALUE_HEADS),
        initial_state=states,
        cu_seqlens=torch.arange(0, tokens + 1, WIDTH),
        ssm_state_indices=indices,
        num_accepted_tokens=accepted,
        use_qk_l2norm_in_kernel=True,
    )
    return out.view(REQUESTS, WIDTH, -1)


def table() -> torch.Tensor:
    """Return int32 [requests, width] that lies between two rows which name a guard slot.

    Slot 0 is the null slot, 1 .. SLOTS belong to requests, and the last is a guard.
    """
    whole = torch.full((REQUESTS + 2, WIDTH), SLOTS + 1, dtype=torch.int32)
    whole[1:-1] = 1 + torch.randperm(SLOTS, generator=torch.Generator().manual_seed(1)).view(
        REQUESTS, WIDTH
    ).to(torch.int32)
    return whole[1:-1]


def guarded(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return states with poisoned slots around, and the view [SLOTS + 2, *shape] in the middle."""
    torch.manual_seed(7)
    memory = torch.full((SLOTS + 2 + 2 * 8, *shape), POISON)
    states = memory[8:-8]
    states[1:-1] = torch.randn(SLOTS, *shape)
    return memory, states


def check_guards(memory: torch.Tensor) -> None:
    assert bool(memory[:9].isnan().all()) and bool(memory[-9:].isnan().all())


@pytest.mark.parametrize("run", [sigmoid, recurrent])
@pytest.mark.parametrize("accepted", [[1, 2, 4]])
def test_valid_rows_go_on_from_the_accepted_slot(run: Run, accepted: list[int]) -> None:
    """Its accepted count decides a row's output, and no other row's."""
    memory, states = guarded(VALUE_HEADS, DIM, DIM)
    indices = table()
    before = states.clone()
    torch.manual_seed(5)
    out = run(states, indices, torch.tensor(accepted, dtype=torch.int32))
    check_guards(memory)
    assert bool(out.isfinite().all())
    for row in range(REQUESTS):
        changed = list(accepted)
        changed[row] = accepted[row] % WIDTH + 1
        again = before.clone()
        torch.manual_seed(5)
        other = run(again, indices, torch.tensor(changed, dtype=torch.int32))
        same = [torch.equal(other[r], out[r]) for r in range(REQUESTS)]
        assert same == [r != row for r in range(REQUESTS)]


@functools.cache
def undisturbed(run: Run) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and states of a step whose rows are all valid."""
    _, states = guarded(VALUE_HEADS, DIM, DIM)
    torch.manual_seed(5)
    return run(states, table(), torch.tensor([1, 2, 3], dtype=torch.int32)), states


@pytest.mark.parametrize("run", [sigmoid, recurrent])
@pytest.mark.parametrize("case", INVALID)
@pytest.mark.parametrize("row", [0, REQUESTS - 1])
def test_an_invalid_row_gives_zeros_and_touches_no_state(run: Run, case: str, row: int) -> None:
    count, slot = INVALID[case]
    expected, good = undisturbed(run)
    indices = table()
    accepted = torch.tensor([1, 2, 3], dtype=torch.int32)
    memory, states = guarded(VALUE_HEADS, DIM, DIM)
    before = states.clone()
    accepted[row] = count
    kept = indices[row].long().clone()
    if slot is not None:
        indices[row] = slot
    torch.manual_seed(5)
    out = run(states, indices, accepted)
    check_guards(memory)
    assert torch.equal(out[row], torch.zeros_like(out[row]))
    others = [r for r in range(REQUESTS) if r != row]
    assert torch.equal(out[others], expected[others])
    assert torch.equal(states[kept], before[kept])
    for other in others:
        assert torch.equal(states[indices[other].long()], good[indices[other].long()])


def test_a_step_longer_than_the_row_keeps_to_its_slots() -> None:
    """More tokens than slots: the states of the surplus are dropped, not written elsewhere."""
    memory, states = guarded(VALUE_HEADS, DIM, DIM)
    indices = table()
    before = states.clone()
    narrow = indices[:, :2].contiguous()
    torch.manual_seed(5)
    out = sigmoid(states, narrow, torch.ones(REQUESTS, dtype=torch.int32))
    check_guards(memory)
    assert bool(out.isfinite().all())
    unused = indices[:, 2:].flatten().long()
    assert torch.equal(states[unused], before[unused])


CHANNELS, KERNEL = 8, 4
STATE_LEN = KERNEL - 1 + DRAFTS


def convolve(states: torch.Tensor, slots: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(9)
    tokens = REQUESTS * WIDTH
    x, weight = torch.randn(tokens, CHANNELS), torch.randn(CHANNELS, KERNEL)
    starts = torch.arange(0, tokens + 1, WIDTH, dtype=torch.int32)
    out = gdn_conv.convolve(x, weight, states, slots, accepted, starts, DRAFTS)
    return out.view(REQUESTS, WIDTH, CHANNELS)


def convolved(window: torch.Tensor, accepted: int, row: int) -> torch.Tensor:
    """Return [width, channels] in plain torch: the window from the accepted token on, then x."""
    torch.manual_seed(9)
    x = torch.randn(REQUESTS * WIDTH, CHANNELS).view(REQUESTS, WIDTH, CHANNELS)[row]
    weight = torch.randn(CHANNELS, KERNEL)
    history = torch.cat([window[accepted - 1 : accepted - 1 + KERNEL - 1], x])
    rows = [(history[t : t + KERNEL] * weight.T).sum(0) for t in range(WIDTH)]
    return torch.nn.functional.silu(torch.stack(rows))


@pytest.mark.parametrize("accepted", [[1, 2, 4], [4, 4, 1], [3, 1, 2]])
def test_valid_windows_are_convolved_from_the_accepted_token(accepted: list[int]) -> None:
    memory, states = guarded(STATE_LEN, CHANNELS)
    slots = torch.tensor([5, 1, SLOTS], dtype=torch.int32)
    before = states.clone()
    out = convolve(states, slots, torch.tensor(accepted, dtype=torch.int32))
    check_guards(memory)
    for row, (slot, count) in enumerate(zip(slots.tolist(), accepted, strict=True)):
        torch.testing.assert_close(out[row], convolved(before[slot], count, row))
        kept = before[slot][count : count + KERNEL - 2]
        assert torch.equal(states[slot][: KERNEL - 2], kept)


@pytest.mark.parametrize("case", [*INVALID, "slot behind the cache"])
@pytest.mark.parametrize("row", [0, REQUESTS - 1])
def test_an_invalid_window_gives_zeros_and_touches_no_state(case: str, row: int) -> None:
    count, slot = INVALID.get(case, (1, SLOTS + 2))
    accepted = torch.tensor([1, 2, 3], dtype=torch.int32)
    slots = torch.tensor([5, 1, SLOTS], dtype=torch.int32)
    _, good = guarded(STATE_LEN, CHANNELS)
    expected = convolve(good, slots, accepted)
    memory, states = guarded(STATE_LEN, CHANNELS)
    before, kept = states.clone(), int(slots[row])
    accepted[row] = count
    if slot is not None:
        slots[row] = slot
    out = convolve(states, slots, accepted)
    check_guards(memory)
    assert torch.equal(out[row], torch.zeros_like(out[row]))
    others = [r for r in range(REQUESTS) if r != row]
    assert torch.equal(out[others], expected[others])
    assert torch.equal(states[kept], before[kept])
    for other in others:
        assert torch.equal(states[int(slots[other])], good[int(slots[other])])
