"""Measures 64 requests at once within the memory of a 24 GB card: stock vLLM, or the batch profile.

usage: batch.py configs DIR                     writes DIR/stock and DIR/base (a config.json each)
       batch.py stock MODEL [options]           an unpatched vLLM on the published quantization
       batch.py ours MODEL [options] [KEY=VALUE ...]        what `qwen3090 serve batch` starts
       batch.py compare STOCK.json OURS.json

MODEL is a checkpoint, or a directory with a config.json alone (dummy weights). Both sides get the
same attention backend (--backend; the one the test machine has) and KV format. Stock keeps vLLM's
defaults (fp32 state as the model's config asks, the runner it picks) and a pool of what 24 GB
leave beside its weights; prefix caching is off on both sides, which spares stock half its states.
With PEERS and RUN in the environment each side waits until all have booted, as bench.py does.
Options: --requests 64 --prompt 128 --output 512 --repeat 2 --backend TRITON_ATTN --out FILE.json.
Prints requests resident, tokens a second in total and of the full steps, the pool and the memory
reserved. Exit status 1: more than 23.6 GiB, or in `compare` less than 1.6 times stock.
"""

import argparse
import fcntl
import itertools
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
from qwen3090.plan.budget import CARD_BYTES, CONTEXT_BYTES, TRANSIENT_BYTES
from qwen3090.plan.graphs import graph_bytes

GOAL = 1.6
Json = dict[str, Any]


def write_configs(folder: Path) -> None:
    """Write the published quantization and the prepared base, text only, as config.json files."""
    from make_checkpoint import text_config, write_tokenizer
    from qwen3090.demo import configs
    from qwen3090.demo.dims import PUBLISHED

    stock = text_config(PUBLISHED)
    group = configs.group
    packed = {
        "group_0": group("Linear", 4),
        "group_1": group("re:.*lm_head$", 8),
        "group_2": group("re:.*embed_tokens$", 8),
    }
    ours = stock | {"quantization_config": configs.quantization(packed, configs.ignored(PUBLISHED))}
    for name, config in (("stock", stock), ("base", ours)):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text(json.dumps(config, indent=2))
        write_tokenizer(folder / name)


def stock_args(given: argparse.Namespace) -> Json:
    """Return LLM's arguments of the stock side: a user's, for as much context as its pool holds."""
    return {
        "model": given.model,
        "dtype": "bfloat16",
        "max_model_len": 32_768,
        "max_num_seqs": given.requests,
        "max_num_batched_tokens": 2048,
        "kv_cache_dtype": "fp8",
        "enable_prefix_caching": False,
        "language_model_only": True,
        "gpu_memory_utilization": 0.05,  # not used: the pool is what the budget leaves
        "gdn_prefill_backend": "triton",
        "kernel_config": {"enable_flashinfer_autotune": False},
        "skip_tokenizer_init": True,
    }


def leave_the_rest_to_the_pool() -> None:
    """Size the pool as a 24 GB card would: what weights, graphs and transients leave."""
    import torch
    from vllm.v1.worker.gpu_worker import Worker

    @torch.inference_mode()
    def rest(self: Any) -> int:
        self.model_runner.profile_run()  # compiles for the longest step, as vLLM does here
        weights = int(self.model_runner.model_memory_usage)
        return CARD_BYTES - CONTEXT_BYTES - TRANSIENT_BYTES - graph_bytes(0) - weights

    Worker.determine_available_memory = rest


def boot(given: argparse.Namespace) -> Any:
    os.environ.pop("VLLM_USE_V2_MODEL_RUNNER", None)
    if given.side == "ours":
        os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "1"
        from engine_args import serve_args

        args = serve_args(["batch", *given.settings], given.model)
    else:
        leave_the_rest_to_the_pool()
        args = stock_args(given)
    v2 = os.environ.get("VLLM_USE_V2_MODEL_RUNNER")
    import bench  # registers the loader, and sets the runner, which is put back

    assert bench.FilesOrDummy
    os.environ.pop("VLLM_USE_V2_MODEL_RUNNER", None)
    if v2:
        os.environ["VLLM_USE_V2_MODEL_RUNNER"] = v2
    from vllm import LLM

    return LLM(
        **args
        | {
            "attention_backend": given.backend,
            "load_format": "files-or-dummy",
            "disable_log_stats": False,
        }
    )


def activations(runner: Any) -> dict[str, int]:
    """Return how many packed linears of the target take which type of activation."""
    model = runner.get_model()
    kernels = [getattr(getattr(m, "scheme", None), "kernel", None) for m in model.modules()]
    return dict(Counter(str(k.config.act_type) for k in kernels if k is not None))


def measure(engine: Any, given: argparse.Namespace, output: int) -> Json:
    """Run all requests to their end; return tokens a second in total and of the full steps."""
    from decode import prompt
    from vllm import SamplingParams
    from vllm.inputs import TokensPrompt

    scheduler = engine.engine_core.engine_core.scheduler
    params = SamplingParams(temperature=0, max_tokens=output, ignore_eos=True, detokenize=False)
    for index in range(given.requests):
        ids = prompt(index, given.prompt)
        engine.add_request(f"r{time.time_ns()}", TokensPrompt(prompt_token_ids=ids), params)
    made: dict[str, int] = {}
    events = [(time.perf_counter(), 0, 0)]
    while engine.has_unfinished_requests():
        for found in engine.step():
            made[found.request_id] = len(found.outputs[0].token_ids)
        events.append((time.perf_counter(), sum(made.values()), len(scheduler.running)))
    seconds, tokens = events[-1][0] - events[0][0], events[-1][1]
    residents = max(running for _, _, running in events)
    full = [
        (after[0] - before[0], after[1] - before[1])
        for before, after in itertools.pairwise(events)
        if before[2] == after[2] == residents and after[1] - before[1] == residents
    ]
    full.sort()
    middle = full[len(full) // 2][0] if full else float("nan")
    return {
        "residents": residents,
        "tokens": tokens,
        "total": tokens / seconds,
        "steady": residents / middle,
        "step_ms": 1e3 * middle,
        "full_steps": len(full),
        "short": sum(count != output for count in made.values()),
    }


def run(given: argparse.Namespace) -> int:
    started = time.time()
    llm = boot(given)
    import bench

    bench.NAME = given.side
    bench.wait_for_peers()
    with (bench.RUN / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return report(llm, given, started)


def report(llm: Any, given: argparse.Namespace, started: float) -> int:
    """Measure a booted engine, print and write what was found."""
    import torch

    engine = llm.llm_engine
    worker = engine.engine_core.engine_core.model_executor.driver_worker.worker
    config = engine.vllm_config
    about: Json = {
        "side": given.side,
        "runner": type(worker.model_runner).__module__,
        "backend": given.backend,
        "activations": activations(worker.model_runner),
        "weights": int(worker.model_runner.model_memory_usage),
        "pool_tokens": config.cache_config.kv_cache_size_tokens,
        "blocks": config.cache_config.num_gpu_blocks,
        "graph_sizes": config.compilation_config.cudagraph_capture_sizes,
        "boot_s": time.time() - started,
    }
    print("ENGINE", json.dumps(about), flush=True)
    measure(engine, given, min(64, given.output))
    found = [measure(engine, given, given.output) for _ in range(given.repeat)]
    for one in found:
        print("RUN", json.dumps(one), flush=True)
    best = max(found, key=lambda one: one["total"])
    reserved = torch.cuda.max_memory_reserved()
    result = about | best | {"reserved": reserved}
    fits = reserved + CONTEXT_BYTES <= CARD_BYTES
    print(
        f"BATCH {given.side}: {given.requests} requests of {given.prompt} + {given.output} tokens, "
        f"{best['residents']} resident, {best['total']:.1f} tokens/s in total, "
        f"{best['steady']:.1f} in full steps of {best['step_ms']:.2f} ms; pool "
        f"{about['pool_tokens']} tokens, {reserved / 2**30:.2f} GiB reserved"
        f"{'' if fits else ': MORE THAN A 24 GB CARD HAS'}",
        flush=True,
    )
    if given.out:
        given.out.write_text(json.dumps(result, indent=2))
    return int(not fits or best["short"] > 0)


def compare(stock: Json, ours: Json) -> int:
    if (stock["side"], ours["side"]) != ("stock", "ours") or stock["backend"] != ours["backend"]:
        raise SystemExit("compare takes stock's result and ours, made with the same backend")
    ratio = ours["total"] / stock["total"]
    for key in ("residents", "total", "steady", "step_ms", "pool_tokens", "weights", "reserved"):
        print(f"{key:12} stock {stock[key]:>16,.1f}  ours {ours[key]:>16,.1f}")
    print(
        f"BATCH ratio {ratio:.3f} in total, {ours['steady'] / stock['steady']:.3f} in full steps "
        f"(goal: {GOAL} in total): {'reached' if ratio >= GOAL else 'MISSED'}"
    )
    return int(ratio < GOAL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("configs", "stock", "ours", "compare"))
    parser.add_argument("model")
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--output", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--backend", default="TRITON_ATTN")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.side == "configs":
        write_configs(Path(given.model))
        return 0
    if given.side == "compare":
        return compare(*(json.loads(Path(p).read_text()) for p in (given.model, *given.settings)))
    return run(given)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
