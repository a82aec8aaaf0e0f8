"""Runs cases on the real vLLM engine: a line of stdin is a list of them, a line of stdout results.

Both are JSON. A case is {name, model, llm, requests: [{name, prompts, params}]}; its result has the
token ids of each request, the draft counters, facts about the loaded modules and probes: what
single layers answer to fixed inputs.
"""

import gc
import json
import os
import sys
import traceback
from pathlib import Path

os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CPU_INT4_W4A8="0")
sys.path.insert(0, str(Path(__file__).parent))

DEFAULTS = {
    "enforce_eager": True,
    "max_model_len": 1024,
    "max_num_seqs": 4,
    "enable_prefix_caching": False,
    "disable_log_stats": False,
    "kv_cache_memory_bytes": 256 << 20,
    "seed": 0,
}
COUNTERS = {
    "vllm:spec_decode_num_draft_tokens": "drafted",
    "vllm:spec_decode_num_accepted_tokens": "accepted",
}


def counters(llm):
    """Return the draft counters of this process so far."""
    found = dict.fromkeys(COUNTERS.values(), 0)
    for metric in llm.get_metrics():
        if metric.name in COUNTERS:
            found[COUNTERS[metric.name]] += metric.value
    return found


def answer(llm, request):
    """Return tokens (the new ids of each prompt), why each ended, and logprobs if asked for."""
    from greedy import table
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    prompts = [{"prompt_token_ids": ids} for ids in request["prompts"]]
    wanted = {"ignore_eos": True, "detokenize": False, **request["params"]}
    if schema := request.get("json"):
        wanted["structured_outputs"] = StructuredOutputsParams(json=schema)
    params = SamplingParams(**wanted)
    completions = [o.outputs[0] for o in llm.generate(prompts, params, use_tqdm=False)]
    found = {"tokens": [list(c.token_ids) for c in completions]}
    found["ended"] = [c.finish_reason for c in completions]
    if params.logprobs is not None:
        pairs = [zip(c.token_ids, c.logprobs, strict=True) for c in completions]
        found["logprobs"] = [[row[t].logprob for t, row in p] for p in pairs]
        found["rows"] = [table(c.logprobs) for c in completions]
    return found


def run(case):
    """Load one checkpoint, answer its requests, unload it."""
    from inspect_engine import facts, probes
    from vllm import LLM
    from vllm.distributed import cleanup_dist_env_and_memory

    llm = LLM(case["model"], **{**DEFAULTS, **case.get("llm", {})})
    try:
        before = counters(llm)
        result = {request["name"]: answer(llm, request) for request in case["requests"]}
        after = counters(llm)
        result.update({key: after[key] - before[key] for key in after})
        runner = llm.llm_engine.model_executor.driver_worker.worker.model_runner
        return result | {"facts": facts(runner), "probes": probes(runner)}
    finally:
        llm.llm_engine.engine_core.shutdown()
        del llm
        gc.collect()
        cleanup_dist_env_and_memory()


def attempt(case):
    """Return the result of a case, or its error."""
    try:
        return run(case)
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    """Answer lists of cases until the input ends; whatever vLLM prints is for the log."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        results = {case["name"]: attempt(case) for case in json.loads(line)}
        print(json.dumps(results), file=answers, flush=True)


if __name__ == "__main__":
    main()
