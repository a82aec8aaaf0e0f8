"""Compiles vLLM's sampling kernels, as patched, for sm_86 and prints what they need as JSON.

A process of its own: on a machine without a GPU vLLM hides Triton unless it finds a backend called
"cpu" at import, and Triton cannot compile while that one is there.
"""

import importlib
import json
import types

from triton import backends

backends.backends["cpu"] = types.SimpleNamespace(
    driver=types.SimpleNamespace(is_active=lambda: False), compiler=None
)
BASE = "vllm.v1.worker.gpu"
GUMBEL = f"{BASE}.sample.gumbel"
WALK = f"{BASE}.spec_decode.dflash2.speculator"
REJECT = f"{BASE}.spec_decode.rejection_sampler_utils"
for module in (GUMBEL, WALK, REJECT):
    importlib.import_module(module)
del backends.backends["cpu"]

from qwen3090_ops.kernels import Example, compile_for  # noqa: E402

INT64 = ("sampled", "local_argmax", "draft_sampled", "seed", "seeds", "pos", "sample_pos", "tokens")
INT64 += ("candidate", "logits_cache_col", "target_local_argmax", "resampled_local_argmax")
INT32 = ("expanded_idx_mapping", "idx_mapping", "cu_num_logits", "rejected_steps", "req_state")
INT32 += ("rejected_step", "request_top_k")


def example(name, module, kernel, **constants):
    """Return an Example whose argument types follow from vLLM's names."""
    signature = {}
    for argument in getattr(importlib.import_module(module), kernel).arg_names:
        stem = argument.removesuffix("_ptr")
        if argument in constants:
            continue
        kind = "i64" if stem in INT64 else "i32" if stem in INT32 else "fp32"
        signature[argument] = f"*{kind}" if argument.endswith("_ptr") else "i32"
    return Example(name, f"{module}:{kernel}", signature, constants)


def examples():
    gumbel = {"BLOCK_SIZE": 1024, "USE_FP64": False, "PER_TOKEN_COL": False}
    yield example("draft", GUMBEL, "_gumbel_sample_kernel", APPLY_TEMPERATURE=True, **gumbel)
    bare = {"logits_cache_ptr": None, "logits_cache_col_ptr": None, "APPLY_TEMPERATURE": False}
    yield example("target", GUMBEL, "_gumbel_sample_kernel", **bare, **gumbel)
    walk = {"num_steps": 7, "top_k": 16, "BLOCK_K": 16, "SAMPLE_PROBABILISTIC": True}
    yield example("walk", WALK, "_selector_walk_kernel", TRUNCATE=True, USE_FP64=False, **walk)
    for block in (False, True):
        common = {"HAS_DRAFT_LOGITS": True, "USE_BLOCK_VERIFICATION": block}
        if not block:
            common["cumulative_log_p_ptr"] = None
        verify = {"PADDED_VOCAB_NUM_BLOCKS": 32, "SYNTHETIC_MODE": False}
        verify |= {"synthetic_conditional_rates_ptr": None}
        verify |= {} if block else {"local_residual_mass_ptr": None}
        name = "block" if block else "standard"
        yield example(f"verify, {name}", REJECT, "_rejection_kernel", **common, **verify)
        resample = {"BLOCK_SIZE": 1024, "USE_FP64": False}
        yield example(f"resample, {name}", REJECT, "_resample_kernel", **common, **resample)


print(json.dumps([vars(compile_for(each)) for each in examples()]))
