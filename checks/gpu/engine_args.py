"""Arguments of vllm.LLM for a profile's plan: GPU checks start what `qwen3090 serve` would."""

import json
import subprocess
import sys
from typing import Any

from qwen3090.serve.render import CACHE_TYPES, CUSTOM_OPS, METHODS, STATE_TYPES

Json = dict[str, Any]


def plan(words: list[str]) -> Json:
    """Return `qwen3090 plan WORDS --json`; 66 (does not fit) is an answer too."""
    command = [sys.executable, "-m", "qwen3090", "plan", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 66):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    found: Json = json.loads(done.stdout)
    return found


def llm_args(inputs: Json, drafter: str | None) -> Json:
    """Return the arguments for a plan's inputs; ``drafter`` is the DFlash2 drafter's directory."""
    drafts = inputs["draft_tokens"]
    found: Json = {
        "dtype": "bfloat16",
        "max_model_len": inputs["context"],
        "max_num_seqs": inputs["seats"],
        "max_num_batched_tokens": inputs["max_batched_tokens"],
        "gpu_memory_utilization": 0.05,  # not used: the pool is pinned, and several engines share
        "kv_cache_memory_bytes": inputs["kv_bytes"],
        "kv_cache_dtype": CACHE_TYPES[inputs["kv_format"]],
        "attention_backend": inputs["attention_backend"],
        "mamba_ssm_cache_dtype": STATE_TYPES[inputs["state_dtype"]],
        "enable_prefix_caching": inputs["prefix_cache"],
        "async_scheduling": inputs["async_scheduling"],
        "gdn_prefill_backend": "triton",
        "kernel_config": {"enable_flashinfer_autotune": False},
        "skip_tokenizer_init": True,
        "compilation_config": {
            "max_cudagraph_capture_size": inputs["seats"] * (drafts + 1),
            "custom_ops": CUSTOM_OPS,
        },
    }
    if inputs["prefix_cache"]:
        found["mamba_cache_mode"] = "align"
    if inputs["speculation"] == "none":
        return found
    speculation: Json = {
        "method": METHODS[inputs["speculation"]],
        "num_speculative_tokens": drafts,
        "draft_sample_method": "probabilistic",
    }
    if inputs["speculation"] == "dflash2":
        speculation |= {"model": drafter, "attention_backend": inputs["drafter_backend"]}
    if inputs["drafter_kv_format"] != inputs["kv_format"]:
        speculation["kv_cache_dtype"] = CACHE_TYPES[inputs["drafter_kv_format"]]
    return found | {"speculative_config": speculation}
