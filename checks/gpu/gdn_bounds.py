"""Runs the DeltaNet kernels of a speculative step on valid and invalid rows on a GPU; no engine.

usage: gdn_bounds.py [--valid-only] [--guard] [--only NAME]
       PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck python gdn_bounds.py
Twice, with an unpatched vLLM and with the series: the digests of the valid rows must be equal, and
only the patched kernels must pass without an invalid access. Every state tensor is an allocation
of its own, so that the sanitizer sees a read before or behind it. --guard needs no sanitizer: the
states begin, and the table of slots ends, where mapped memory does (guarded.py), so that such an
access ends the process (one kernel a process then: --only). Exit status 1: an invalid row
whose output is not zero, a state that a step should not have touched, or a value that is no number.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Callable

os.environ.setdefault("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
import torch
from guarded import guarded
from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_update
from vllm.third_party.flash_linear_attention.ops.fused_recurrent import (
    fused_recurrent_gated_delta_rule,
)
from vllm.third_party.flash_linear_attention.ops.fused_sigmoid_gating import (
    fused_sigmoid_gating_delta_rule_update,
)

HEADS, VALUE_HEADS, DIM, CHANNELS, KERNEL = 16, 48, 128, 10_240, 4
DRAFTS, REQUESTS = 7, 8
WIDTH = DRAFTS + 1
SLOTS = REQUESTS * WIDTH + 1  # slot 0 is the null slot
TOKENS = REQUESTS * WIDTH
VALID = [1, 2, 3, 4, 5, 6, 7, 8]
# Row -> (accepted tokens, first slot or None to keep it): what must not reach a state.
INVALID: dict[int, tuple[int, int | None]] = {
    1: (0, None),
    3: (WIDTH + 1, None),
    4: (1, -1),
    5: (1, 0),
    # A table's last row: what is read behind it belongs to nobody.
    REQUESTS - 1: (WIDTH + 4096, None),
}
Kernel = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(*shape, device="cuda", generator=generator).to(dtype)


def starts() -> torch.Tensor:
    return torch.arange(0, TOKENS + 1, WIDTH, dtype=torch.int32, device="cuda")


def sigmoid(states: torch.Tensor, table: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    out, _ = fused_sigmoid_gating_delta_rule_update(
        A_log=normal(VALUE_HEADS, seed=1, dtype=torch.float32),
        a=normal(TOKENS, VALUE_HEADS, seed=2),
        b=normal(TOKENS, VALUE_HEADS, seed=3),
        dt_bias=normal(VALUE_HEADS, seed=4),
        q=normal(1, TOKENS, HEADS, DIM, seed=5),
        k=normal(1, TOKENS, HEADS, DIM, seed=6),
        v=normal(1, TOKENS, VALUE_HEADS, DIM, seed=7),
        initial_state=states,
        cu_seqlens=starts(),
        ssm_state_indices=table,
        num_accepted_tokens=accepted,
        use_qk_l2norm_in_kernel=True,
    )
    return out.view(REQUESTS, WIDTH, -1)


def recurrent(states: torch.Tensor, table: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    out, _ = fused_recurrent_gated_delta_rule(
        q=normal(1, TOKENS, HEADS, DIM, seed=5),
        k=normal(1, TOKENS, HEADS, DIM, seed=6),
        v=normal(1, TOKENS, VALUE_HEADS, DIM, seed=7),
        g=-normal(1, TOKENS, VALUE_HEADS, seed=8, dtype=torch.float32).abs(),
        beta=normal(1, TOKENS, VALUE_HEADS, seed=9).sigmoid(),
        initial_state=states,
        cu_seqlens=starts(),
        ssm_state_indices=table,
        num_accepted_tokens=accepted,
        use_qk_l2norm_in_kernel=True,
    )
    return out.view(REQUESTS, WIDTH, -1)


def convolution(states: torch.Tensor, table: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    out = causal_conv1d_update(
        normal(TOKENS, CHANNELS, seed=10),
        states.transpose(-1, -2),
        normal(CHANNELS, KERNEL, seed=11),
        None,
        "silu",
        conv_state_indices=table[:, 0],
        num_accepted_tokens=accepted,
        query_start_loc=starts(),
        max_query_len=WIDTH,
    )
    return out.view(REQUESTS, WIDTH, -1)


KERNELS: dict[str, tuple[Kernel, tuple[int, ...], torch.dtype]] = {
    "sigmoid gating": (sigmoid, (VALUE_HEADS, DIM, DIM), torch.float16),
    "recurrent": (recurrent, (VALUE_HEADS, DIM, DIM), torch.float16),
    "convolution": (convolution, (KERNEL - 1 + DRAFTS, CHANNELS), torch.bfloat16),
}


def step(
    name: str, invalid: bool, guard: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, set[int]]:
    """Return (output, states before, states after, rows that are invalid) of one step."""
    kernel, shape, dtype = KERNELS[name]
    states = normal(SLOTS, *shape, seed=12, dtype=dtype)
    table = torch.arange(1, SLOTS, dtype=torch.int32, device="cuda").view(REQUESTS, WIDTH).clone()
    accepted = torch.tensor(VALID, dtype=torch.int32, device="cuda")
    for row, (count, slot) in INVALID.items() if invalid else ():
        accepted[row] = count
        if slot is not None:
            table[row] = slot
    before = states.clone()
    if guard:
        states, table = guarded(states, "start"), guarded(table, "end")
    out = kernel(states, table, accepted)
    torch.cuda.synchronize()
    return out, before, states, set(INVALID) if invalid else set()


def digest(rows: torch.Tensor) -> str:
    return hashlib.sha256(rows.float().cpu().numpy().tobytes()).hexdigest()[:16]


def check(name: str, invalid: bool, guard: bool) -> bool:
    out, before, after, wrong = step(name, invalid, guard)
    good = [row for row in range(REQUESTS) if row not in wrong]
    zero = all(bool((out[row] == 0).all()) for row in wrong)
    slots = [1 + row * WIDTH + column for row in wrong for column in range(WIDTH)]
    untouched = bool(torch.equal(before[slots], after[slots])) and torch.equal(before[0], after[0])
    finite = bool(out[good].isfinite().all())
    print(
        f"GDN {name}, {'some rows invalid' if invalid else 'all rows valid'}: valid rows "
        f"{digest(out[good])}, invalid rows zero: {zero}, their states untouched: {untouched}, "
        f"finite: {finite}",
        flush=True,
    )
    return zero and untouched and finite


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--valid-only", action="store_true", help="only the digests to compare")
    parser.add_argument("--guard", action="store_true", help="fault at an access outside")
    parser.add_argument("--only", choices=KERNELS, help="one kernel")
    given = parser.parse_args()
    print(f"GDN on {torch.cuda.get_device_name()}", flush=True)
    kinds = (False,) if given.valid_only else (False, True)
    names = [given.only] if given.only else list(KERNELS)
    results = [check(name, invalid, given.guard) for name in names for invalid in kinds]
    print("GDN", "right" if all(results) else "WRONG", flush=True)
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
