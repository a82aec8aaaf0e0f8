"""Times and checks the split attention of a verify step against FlashAttention-2 on a GPU.

usage: attention.py [--tune] [--page 448]

The shape of the published model: 24 query and 4 KV heads of 256, bf16, the cache packed K|V as
vLLM lays it out, blocks in random order. Errors are against torch in fp64, ‖out − ref‖ / ‖ref‖.
The ratio is our time over FlashAttention-2's, both from one run, each a median over captured
graphs. --tune tries other launches. Exit status 1: an error above 1 % or a replay that is wrong.
"""

import argparse
import itertools
import sys
from typing import Any

import torch
import triton
from qwen3090_ops.attention.backend import multiprocessors
from qwen3090_ops.attention.scratch import Scratch, segments
from qwen3090_ops.attention.split import Shape, attend, shape_of

HEADS, KV_HEADS, DIM = 24, 4, 256
SCALE = DIM**-0.5


class Case:
    """One batch: ``requests`` requests of ``length`` cached tokens, ``tokens`` of them new."""

    def __init__(self, length: int, tokens: int, requests: int, page: int) -> None:
        self.length, self.tokens, self.requests, self.page = length, tokens, requests, page
        blocks = -(-length // page)
        shape = (requests * blocks + 1, page, KV_HEADS, 2 * DIM)
        packed = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self.key, self.value = packed[..., :DIM], packed[..., DIM:]
        order = torch.randperm(requests * blocks, device="cuda") + 1
        self.table = order.view(requests, blocks).to(torch.int32)
        self.lengths = torch.full((requests,), length, dtype=torch.int32, device="cuda")
        self.starts = torch.arange(requests + 1, dtype=torch.int32, device="cuda") * tokens
        self.q = torch.randn(requests * tokens, HEADS, DIM, device="cuda", dtype=torch.bfloat16)
        self.out = torch.full_like(self.q, float("nan"))
        self.scratch = Scratch.make(
            requests=requests,
            tokens=tokens,
            heads=HEADS,
            kv_heads=KV_HEADS,
            dim=DIM,
            multiprocessors=multiprocessors(),
            device=self.q.device,
        )

    def ours(self, shape: Shape | None = None) -> None:
        attend(
            self.q,
            self.key,
            self.value,
            self.table,
            self.lengths,
            self.starts,
            self.out,
            scale=SCALE,
            tokens=self.tokens,
            scratch=self.scratch,
            multiprocessors=multiprocessors(),
            shape=shape,
        )

    def flash(self) -> None:
        from vllm.vllm_flash_attn import flash_attn_varlen_func

        flash_attn_varlen_func(
            q=self.q,
            k=self.key,
            v=self.value,
            out=self.out,
            cu_seqlens_q=self.starts,
            max_seqlen_q=self.tokens,
            seqused_k=self.lengths,
            max_seqlen_k=self.length,
            softmax_scale=SCALE,
            causal=True,
            block_table=self.table,
            fa_version=2,
        )

    def expected(self) -> torch.Tensor:
        """Return the attention in fp64, [tokens, heads, dim]."""
        found = torch.empty(self.q.shape, dtype=torch.float64, device="cuda")
        for request in range(self.requests):
            length = int(self.lengths[request])
            place = torch.arange(length, device="cuda")
            block = self.table[request].long()[place // self.page]
            key = self.key[block, place % self.page].double()
            value = self.value[block, place % self.page].double()
            first = request * self.tokens
            q = self.q[first : first + self.tokens].double()
            q = q.view(self.tokens, KV_HEADS, HEADS // KV_HEADS, DIM)
            scores = torch.einsum("thgd,shd->hgts", q, key) * SCALE
            last = length - self.tokens + torch.arange(self.tokens, device="cuda")
            scores.masked_fill_(place[None] > last[:, None], float("-inf"))
            part = torch.einsum("hgts,shd->thgd", scores.softmax(-1), value)
            found[first : first + self.tokens] = part.reshape(self.tokens, HEADS, DIM)
        return found

    def error(self, expected: torch.Tensor) -> float:
        return float((self.out.double() - expected).norm() / expected.norm())


def micros(run: Any) -> float:
    return 1e3 * float(triton.testing.do_bench_cudagraph(run, rep=30))


def replay_is_right(page: int) -> bool:
    """Capture at full length, then replay with other lengths and another order of blocks."""
    case = Case(6_000, 8, 4, page)
    case.ours()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        case.ours()
    case.lengths.copy_(torch.tensor([8, 449, 5_999, 1_000], dtype=torch.int32))
    case.table.copy_(case.table.flip(0, 1))
    larger = Case(12_000, 8, 4, page)
    larger.ours()  # an eager batch in between
    case.out.fill_(float("nan"))
    graph.replay()
    error = case.error(case.expected())
    print(f"REPLAY with other lengths and blocks: error {error:.2e}", flush=True)
    return error < 0.01


def tune(page: int) -> None:
    for length, tokens in itertools.product((16_000, 65_536), (5, 8)):
        case = Case(length, tokens, 1, page)
        rows = shape_of(tokens, HEADS // KV_HEADS).rows
        best = []
        for tile, warps, stages in itertools.product((16, 32, 64), (2, 4, 8), (1, 2, 3, 4)):
            try:
                shape = Shape(rows, tile, warps, stages)
                best.append((micros(lambda s=shape, c=case: c.ours(s)), shape))
            except Exception:  # does not fit or does not compile
                continue
        best.sort(key=lambda item: item[0])
        for time, shape in best[:6]:
            print(f"TUNE {length} x {tokens}: {time:8.1f} us {shape}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--page", type=int, default=448)
    given = parser.parse_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_name()}, {multiprocessors()} multiprocessors", flush=True)
    good = replay_is_right(given.page)
    print(
        "cached tokens x new x requests | FA2 us | ours us | ratio | segments | errors: FA2, ours"
    )
    cases = [(512, 5, 1), (512, 8, 1), (512, 8, 8), (1_500, 8, 1), (4_096, 8, 8)]
    cases += [(16_000, tokens, 1) for tokens in (2, 5, 8, 16, 21)]
    cases += [(16_000, 8, 4), (65_536, 5, 1), (65_536, 8, 1), (131_072, 8, 1)]
    for length, tokens, requests in cases:
        case = Case(length, tokens, requests, given.page)
        expected = case.expected()
        case.flash()
        flash = case.error(expected)
        case.out.fill_(float("nan"))
        case.ours()
        ours = case.error(expected)
        good = good and ours < 0.01
        times = micros(case.flash), micros(case.ours)
        print(
            f"{length:7} x {tokens:2} x {requests} | {times[0]:8.1f} | {times[1]:7.1f} | "
            f"{times[1] / times[0]:.3f} | {segments(requests, KV_HEADS, multiprocessors()):2} | "
            f"{flash:.1e} {ours:.1e}",
            flush=True,
        )
    if given.tune:
        tune(given.page)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
