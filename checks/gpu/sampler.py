"""Compares and times sampling without sorting against vLLM's own functions, on a GPU.

Run with vLLM's Python tree on PYTHONPATH: `python checks/gpu/sampler.py [--quick] [--tune]`. Prints
what differs and a table of medians; 1 when a kept set differs. A time is the GPU's: the host runs
ahead behind a kernel that only waits. "warm" finds the logits where the step before left them,
"cold" has the L2 cache flushed. --tune times other ways to launch our kernels.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pkgs/ops"))
from qwen3090_ops.sampling.scanned import Launch, launch_for
from qwen3090_ops.sampling.top import top
from qwen3090_ops.sampling.truncate import truncate
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p, apply_top_k_top_p_pytorch

VOCAB, DRAFT_VOCAB = 248_320, 40_960
ROWS = (1, 2, 4, 5, 8, 16, 32, 64)
INF = float("inf")
WAIT_CYCLES = 4_000_000
Function = Callable[[torch.Tensor], object]


def logits(rows: int, vocab: int, seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random logits with a peaked head, as a language model's are; rounded to bf16 first."""
    generator = torch.Generator("cuda").manual_seed(seed)
    x = torch.randn(rows, vocab, device="cuda", generator=generator) * 2
    at = torch.randint(vocab, (rows, 12), device="cuda", generator=generator)
    x.scatter_add_(1, at, 12 * torch.rand(rows, 12, device="cuda", generator=generator))
    return x.bfloat16().to(dtype)


def parameters(rows: int, k: int = 20, p: float = 0.95) -> tuple[torch.Tensor, torch.Tensor]:
    top_k = torch.full((rows,), k, dtype=torch.int32, device="cuda")
    return top_k, torch.full((rows,), p, device="cuda")


def median(run: Function, inputs: list[torch.Tensor], cold: bool, repeats: int) -> float:
    """Return the median time of ``run(copy of an input)`` in microseconds."""
    flush = torch.empty(2**26, dtype=torch.int32, device="cuda") if cold else None
    work = torch.empty_like(inputs[0])
    times = []
    for index in range(repeats + 5):
        work.copy_(inputs[index % len(inputs)])
        if flush is not None:
            flush.zero_()
        torch.cuda._sleep(WAIT_CYCLES)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run(work)
        end.record()
        torch.cuda.synchronize()
        if index >= 5:
            times.append(start.elapsed_time(end) * 1000)
    return sorted(times)[len(times) // 2]


def kept_by_stable_sort(x: torch.Tensor, k: torch.Tensor, p: torch.Tensor | None) -> torch.Tensor:
    values, order = x.float().sort(dim=-1, stable=True)
    bound = values.gather(1, (values.shape[1] - k.long())[:, None])
    values.masked_fill_(values < bound, -INF)
    if p is not None:
        drop = values.softmax(dim=-1).cumsum(dim=-1) <= 1 - p[:, None]
        drop[:, -1] = False
        values.masked_fill_(drop, -INF)
    return torch.empty_like(values).scatter_(-1, order, values) > -INF


def compare(name: str, x: torch.Tensor, k: torch.Tensor, p: torch.Tensor | None) -> bool:
    """Print how many kept tokens differ from the stable sort's and from vLLM's; False if any do.

    A token whose cumulative probability is within 1e-5 of the limit may go either way.
    """
    found = truncate(x.clone(), k, p)
    kept = found > -INF
    values_ok = bool((found[kept] == x[kept]).all())
    differs = kept != kept_by_stable_sort(x, k, p)
    stock = kept != (apply_top_k_top_p_pytorch(x.float().clone(), k, p) > -INF)
    real = differs
    if p is not None:
        loose = kept_by_stable_sort(x, k, p - 1e-5) ^ kept_by_stable_sort(x, k, p + 1e-5)
        real = differs & ~loose
    print(
        f"{name:34} kept {int(kept.sum()):6}  differ: stable sort {int(differs.sum())} "
        f"(beyond rounding {int(real.sum())}), vLLM's sort {int(stock.sum())}"
    )
    return values_ok and not bool(real.any())


def correctness() -> bool:
    good = True
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for vocab in (1_000, DRAFT_VOCAB, VOCAB, 151_937):
            x = logits(8, vocab, vocab, dtype)
            k = torch.tensor([1, 2, 20, 20, 64, 50, 5, 20], dtype=torch.int32, device="cuda")
            p = torch.tensor([0.95, 0.1, 0.95, 1, 0.5, 1e-6, 0.8, 0.99], device="cuda")
            label = f"{str(dtype)[6:]}, {vocab}"
            good &= compare(label, x, k, p) & compare(label + ", top-k", x, k, None)
    k, p = parameters(8)
    flat = torch.zeros(8, VOCAB, device="cuda")
    good &= compare("all equal", flat, k, p) & compare("all equal, top-k", flat, k, None)
    masked = torch.full((8, VOCAB), -INF, device="cuda")
    masked[:, ::20_000] = logits(8, 13, 5)
    good &= compare("13 tokens allowed", masked, k, p)
    masked[:, 1:] = -INF
    good &= compare("1 token allowed", masked, k, p)
    rising = torch.arange(float(VOCAB), device="cuda").repeat(8, 1) / 9_000
    good &= compare("rising with the column", rising, k, p)
    return good & graph() & candidates()


def graph() -> bool:
    """Replay a captured truncation with other logits and parameters."""
    k, p = parameters(4)
    states = torch.tensor([3, 2, -1, 0], dtype=torch.int32, device="cuda")
    work = logits(4, VOCAB, 1)
    truncate(work.clone(), k, p, states=states)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        truncate(work, k, p, states=states)
    fresh = logits(4, VOCAB, 2)
    work.copy_(fresh)
    k.copy_(torch.tensor([3, 70, 20, 64]))
    captured.replay()
    expected = truncate(fresh.clone(), k, p, states=states)
    good = torch.equal(work, expected) and torch.equal(work[2], fresh[2])
    print(f"CUDA graph with changed parameters: {'equal' if good else 'DIFFERS'}")
    return good


def candidates() -> bool:
    """Compare DFlash2's 16 candidates with those of a stable sort."""
    x = logits(56, VOCAB, 9, torch.bfloat16)
    values, order = x.float().sort(dim=-1, descending=True, stable=True)
    found, columns = top(x, 16)
    good = torch.equal(found, values[:, :16]) and torch.equal(columns, order[:, :16])
    print(f"DFlash2's candidates: {'equal' if good else 'DIFFER'}")
    return good


def candidate_times(repeats: int) -> None:
    """Print the time of DFlash2's candidates: FlashInfer's kernel where there is one."""
    kernels: dict[str, Function] = {
        "torch": lambda x: torch.topk(x, 16, dim=-1),
        "ours": lambda x: top(x, 16),
    }
    try:
        from flashinfer import top_k

        kernels["flashinfer"] = lambda x: top_k(x, 16, sorted=True, deterministic=True)
    except ImportError as error:
        print(f"no FlashInfer here: {error}")
    for rows in (7, 28, 56):
        inputs = [logits(rows, VOCAB, seed, torch.bfloat16) for seed in range(4)]
        found = {name: median(run, inputs, True, repeats) for name, run in kernels.items()}
        text = ", ".join(f"{name} {us:.1f}" for name, us in found.items())
        print(f"16 candidates of {rows} bf16 rows, us, cold: {text}", flush=True)


def times(quick: bool) -> None:
    repeats = 20 if quick else 60
    print(
        "\nrows x columns           | stock us, warm cold | ours us, warm cold | ratio, warm cold"
    )
    shapes = [(rows, VOCAB) for rows in ROWS] + [(8, DRAFT_VOCAB)]
    for rows, vocab in shapes:
        inputs = [logits(rows, vocab, seed) for seed in range(4)]
        k, p = parameters(rows)
        states = torch.arange(rows, dtype=torch.int32, device="cuda")
        stock = partial(apply_top_k_top_p, k=k, p=p)
        ours = partial(truncate, top_k=k, top_p=p, states=states)
        pairs = [
            [median(run, inputs, cold, repeats) for run in (stock, ours)] for cold in (False, True)
        ]
        (a, b), (c, d) = pairs
        label = f"{rows} x {vocab}"
        print(
            f"{label:24} | {a:9.1f} {c:9.1f} | {b:8.1f} {d:8.1f} | {b / a:7.3f} {d / c:7.3f}",
            flush=True,
        )
    candidate_times(repeats)
    for rows in (1, 8, 64):
        print(f"{rows} rows:", {name: round(us, 1) for name, us in kernels(rows=rows).items()})


def kernels(launch: Launch | None = None, rows: int = 8) -> dict[str, float]:
    """Return what each of our kernels takes, in microseconds, by the profiler."""
    from torch.profiler import ProfilerActivity, profile

    inputs = [logits(rows, VOCAB, seed) for seed in range(4)]
    k, p = parameters(rows)
    truncate(inputs[0].clone(), k, p, launch=launch)
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for index in range(20):
            truncate(inputs[index % 4].clone(), k, p, launch=launch)
        torch.cuda.synchronize()
    names = ("group_maxima", "cuts", "mask")
    return {
        name: sum(
            event.self_device_time_total / event.count
            for event in found.key_averages()
            if event.key.startswith(f"{name}_kernel")
        )
        for name in names
    }


def tune() -> None:
    """Print each kernel's time for changes of one launch parameter at a time."""
    changes = {
        "group": (64, 128, 256),
        "cut_warps": (2, 4, 8, 16),
        "cut_tile": (16, 32, 64),
        "scan_tile": (8, 16, 32, 64),
        "scan_warps": (2, 4, 8),
    }
    print("\nchange of launch_for(rows)   | rows | us: scan, cuts, mask, sum")
    for rows in (1, 8, 64):
        for name, values in changes.items():
            for value in values:
                found = kernels(replace(launch_for(rows), **{name: value}), rows)
                parts = list(found.values())
                text = " ".join(f"{part:7.1f}" for part in (*parts, sum(parts)))
                print(f"{name} = {value:3}".ljust(28), f"| {rows:4} | {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--tune", action="store_true", help="time other launch parameters too")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__)
    good = correctness()
    times(args.quick)
    if args.tune:
        tune()
    print("ok" if good else "FAILED: a kept set differs")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
