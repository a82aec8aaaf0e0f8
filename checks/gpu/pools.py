"""Compares the pool that vLLM computes on a GPU with `qwen3090 plan`, token for token.

usage: pools.py MODEL DRAFTER [stock]   (directories; only their config.json is read)

Each engine gets dummy weights and is stopped as soon as it has sized its pool. `stock` compares
an unpatched vLLM with the plan's kv_groups=stock instead. Exit status 1 when a figure differs.
"""

import gc
import os
import sys
import time
from typing import Any

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_USE_V2_MODEL_RUNNER="1")
import torch
import vllm.v1.engine.core as core
import vllm.v1.worker.gpu_worker as gpu_worker
from engine_args import plan, serve_args, settings
from vllm import LLM

CACHE, NONE = "prefix_cache=false", ["speculation=none", "draft_tokens=0"]
CASES = {
    "patched": [
        ["fast"],
        ["fast", CACHE],
        ["long"],
        ["long", CACHE],
        ["fast-mtp"],
        ["fast-mtp", CACHE],
        ["fast", *NONE],
        ["fast", *NONE, CACHE],
        ["long-mtp"],
        ["huge"],
        ["batch"],
        ["batch-262k"],
    ],
    "stock": [["fast", CACHE, "kv_groups=stock", "context=49152"], ["fast-mtp"], ["fast", *NONE]],
}
seen: list[Any] = []


class Sized(BaseException):
    """Ends a boot: the pool is known."""


def stop_when_sized(config: Any, kv: Any) -> None:
    capacity(config, kv)
    seen[:] = [config.cache_config, kv]
    raise Sized


capacity = core.update_kv_cache_capacity
core.update_kv_cache_capacity = stop_when_sized


def main() -> int:
    model, drafter = sys.argv[1:3]
    wrong = 0
    for words in CASES["stock" if "stock" in sys.argv[3:] else "patched"]:
        started, label = time.time(), " ".join(words)
        want = plan(settings(words))
        pool = want["kv_bytes"]
        gpu_worker.Worker.determine_available_memory = lambda self, pool=pool: pool
        try:
            served = [word for word in words if not word.startswith("kv_groups=")]
            needed = drafter if want["inputs"]["speculation"] == "dflash2" else None
            args = serve_args(served, model, needed, stock="stock" in sys.argv[3:])
            if args["attention_backend"] == "FLASHINFER":  # the test machine has none
                args["attention_backend"] = "TRITON_ATTN"
            LLM(**args | {"load_format": "dummy", "enforce_eager": True})
        except Sized:
            cache, kv = seen
            got = {"pool_tokens": cache.kv_cache_size_tokens, "blocks_available": kv.num_blocks}
            same = all(want[key] == value for key, value in got.items())
            groups = [
                f"{len(g.layer_names)} {type(spec).__name__} {spec.block_size}"
                for g in kv.kv_cache_groups
                for spec in [g.kv_cache_spec]
            ]
            print(
                f"POOL {label}: {pool} bytes, vLLM {got['pool_tokens']} tokens in "
                f"{got['blocks_available']} blocks, plan {want['pool_tokens']} in "
                f"{want['blocks_available']}: {'equal' if same else 'DIFFERENT'} "
                f"({time.time() - started:.1f} s)\n     groups: {', '.join(groups)}",
                flush=True,
            )
        except Exception as error:
            same = False
            print(f"POOL {label}: FAILED {type(error).__name__}: {str(error)[:400]}", flush=True)
        wrong += not same
        seen.clear()
        gc.collect()
        torch.cuda.empty_cache()
    print(f"POOLS {'all equal' if not wrong else f'{wrong} wrong'}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
