"""Rules for engine.args and engine.env: they may add to what settings render, not contradict it."""

import re
from collections.abc import Iterator

from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import Found

# vLLM flag -> the setting that it belongs to. serve/render.py writes no other flag (tested).
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
    "--enable-prompt-tokens-details": "prefix_cache",
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
    "--shutdown-timeout": "kill_timeout",
    "--scheduler-cls": "stall_timeout",
    "--api-server-count": "engine.command",
    "--worker-extension-cls": "engine.command",
    "--disable-uvicorn-access-log": "request_log",
}
# Flags of ours that a user may give as well, each time adding one.
SHARED_FLAGS = frozenset({"--middleware"})
# Short forms of the flags above.
ALIASES = {
    "-ac": "--attention-config",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-asc": "--api-server-count",
}


# Flags that no setting renders and that would break what serve promises; each with the reason.
_HIDDEN = "it would hide flags in a file that nothing checks"
_HTTP = "the supervisor asks the engine over plain HTTP at host and port"
_PLAN = "the memory plan would not hold"
REFUSED_FLAGS = {
    "--config": _HIDDEN,
    "--uds": _HTTP,
    "--grpc": _HTTP,
    "--headless": _HTTP,
    "--ssl-keyfile": f"{_HTTP}; put a reverse proxy in front for TLS",
    "--ssl-certfile": f"{_HTTP}; put a reverse proxy in front for TLS",
    "--attention-config": "attention_backend and drafter_attention_backend decide it",
    "--block-size": _PLAN,
    "--mamba-block-size": _PLAN,
    "--num-gpu-blocks-override": _PLAN,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _matches(flag: str, known: dict[str, str]) -> str:
    """Return the value of the known flag that a word is; "" for none.

    ``--no-x``, ``--x=1``, ``--x_y``, ``--x.part``, short forms and beginnings count: vLLM's parser
    accepts all of them.
    """
    name = re.split(r"[=.]", flag, maxsplit=1)[0]
    name = ALIASES.get(name, name).replace("_", "-")
    if name.startswith("--no-"):
        name = "--" + name.removeprefix("--no-")
    if name in known:
        return known[name]
    if not name.startswith("--") or name == "--":
        return ""
    return next((value for full, value in known.items() if full.startswith(name)), "")


def owner_of(flag: str) -> str:
    """Return the setting that a flag of vLLM belongs to, or ""."""
    return _matches(flag, OWNED_FLAGS)


def engine_problems(config: ServeConfig) -> Iterator[Found]:
    """Yield flags and variables that belong to a setting."""
    for word in config.engine.args:
        # A whole name of the one table comes before a beginning in the other.
        reason = _matches(word, REFUSED_FLAGS) if word.startswith("-") else ""
        if reason:
            text = f"engine.args: {word.split('=', 1)[0]} is refused: {reason}"
            yield Found(("engine.args",), text, "take it out of engine.args")
            continue
        owner = owner_of(word) if word.startswith("-") else ""
        if owner:
            text = f"engine.args: {word.split('=', 1)[0]} belongs to the setting {owner}"
            yield Found(("engine.args",), text, f"use {owner} instead (qwen3090 config reference)")
    if "VLLM_API_KEY" in config.engine.env:
        text = "engine.env: VLLM_API_KEY would be readable in the configuration"
        yield Found(("engine.env",), text, "put the key into a file: api_key_file = FILE")
    for name in config.engine.env:
        if not _NAME.fullmatch(name):
            text = f"engine.env: {name!r} is not a variable's name"
            yield Found(("engine.env",), text, "use letters, digits and _ only")
    if config.engine.command is not None and not config.engine.command:
        yield Found(("engine.command",), "engine.command is empty", "--set engine.command=none")
