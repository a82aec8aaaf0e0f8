"""Rules for engine.args and engine.env: they may add to what settings render, not contradict it."""

from collections.abc import Iterator

from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import Found

# vLLM flag -> the setting that renders it. serve/render.py writes no other flag (tested).
OWNED_FLAGS = {
    "--model": "model",
    "--served-model-name": "served_name",
    "--host": "host",
    "--port": "port",
    "--api-key": "api_key_file",
    "--max-model-len": "context",
    "--max-num-seqs": "seats",
    "--max-num-batched-tokens": "max_batched_tokens",
    "--gpu-memory-utilization": "gpu_memory_utilization",
    "--kv-cache-memory-bytes": "kv_bytes",
    "--kv-cache-dtype": "kv_format",
    "--dtype": "dtype",
    "--mamba-ssm-cache-dtype": "state_dtype",
    "--attention-backend": "attention_backend",
    "--enable-prefix-caching": "prefix_cache",
    "--mamba-cache-mode": "prefix_cache",
    "--async-scheduling": "async_scheduling",
    "--compilation-config": "graph_sizes",
    "--enforce-eager": "eager",
    "--language-model-only": "language_model_only",
    "--speculative-config": "speculation",
    "--reasoning-parser": "reasoning",
    "--enable-auto-tool-choice": "tools",
    "--tool-call-parser": "tools",
    "--override-generation-config": "temperature",
    "--additional-config": "mtp_draft_vocab",
    "--shutdown-timeout": "shutdown_timeout",
    "--api-server-count": "engine.command",
    "--disable-access-log-for-endpoints": "health_interval",
}
# Short forms of the flags above.
ALIASES = {
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-asc": "--api-server-count",
}


def owner_of(flag: str) -> str:
    """Return the setting that renders a flag (``--no-x``, ``--x=1``, ``--x_y`` included), or ""."""
    name = flag.split("=", 1)[0]
    name = ALIASES.get(name, name).replace("_", "-")
    if name.startswith("--no-"):
        name = "--" + name.removeprefix("--no-")
    # vLLM's parser accepts any unambiguous beginning of a flag.
    starts = [owner for known, owner in OWNED_FLAGS.items() if known.startswith(name)]
    if name in OWNED_FLAGS:
        return OWNED_FLAGS[name]
    return starts[0] if name.startswith("--") and len(name) > 5 and starts else ""


def engine_problems(config: ServeConfig) -> Iterator[Found]:
    """Yield flags and variables that belong to a setting."""
    for word in config.engine.args:
        owner = owner_of(word) if word.startswith("-") else ""
        if owner:
            text = f"engine.args: {word.split('=', 1)[0]} belongs to the setting {owner}"
            yield Found(("engine.args",), text, f"use {owner} instead (qwen3090 config reference)")
    if "VLLM_API_KEY" in config.engine.env:
        text = "engine.env: VLLM_API_KEY would be readable in the configuration"
        yield Found(("engine.env",), text, "put the key into a file: api_key_file = FILE")
    if config.engine.command is not None and not config.engine.command:
        yield Found(("engine.command",), "engine.command is empty", "--set engine.command=none")
