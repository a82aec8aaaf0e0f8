"""The typed settings of one server: every key, its type, its default and what it means.

Profiles, configuration files, environment variables and ``--set`` all use these names.
The reference page is generated from this file.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from qwen3090.config.values import (
    Bool,
    Bytes,
    Float,
    Int,
    Optional,
    Table,
    Words,
    parse_numbers,
    parse_sizes,
)

KvFormat = Literal["bf16", "fp8", "int8", "int4"]
Speculation = Literal["dflash2", "mtp", "none"]
Backend = Literal["FLASH_ATTN", "FLASHINFER", "TRITON_ATTN"]
GraphSizes = Annotated[int | tuple[int, ...], BeforeValidator(parse_sizes)]
Numbers = Annotated[tuple[Int, ...], BeforeValidator(parse_numbers)]
MAX_CONTEXT = 262_144


class EngineSection(BaseModel):
    """The process that is supervised."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: Annotated[Words | None, Optional] = Field(
        None,
        description="Command that starts the engine; the model's path and the flags are appended. "
        "Unset: vLLM of this environment.",
    )
    args: Words = Field(
        (),
        description="Further vLLM flags, appended last. "
        "A flag that a setting already renders is refused.",
    )
    env: Table = Field(
        default_factory=dict,
        description="Further environment variables of the engine. "
        "VLLM_ variables reach the engine only from here.",
    )


class ServeConfig(BaseModel):
    """Everything ``qwen3090 serve`` needs to start one engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    # What is served, and to whom
    variant: Literal["fast", "base"] = Field(
        "fast", description="Which prepared checkpoint of the state directory, when model is unset."
    )
    model: Annotated[Path | None, Optional] = Field(
        None,
        description="Directory of the prepared checkpoint. "
        "Unset: the variant's in the state directory (on a CPU it must be set).",
    )
    drafter: Annotated[Path | None, Optional] = Field(
        None,
        description="Directory of the drafter, used when speculation = dflash2. "
        "Unset: the one in the state directory.",
    )
    served_name: str = Field(
        "qwen3.8-27b", min_length=1, description="Model name in the API (no spaces)."
    )
    host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address to listen on. Anything but a loopback address needs api_key_file.",
    )
    port: Int = Field(18020, ge=1, le=65535, description="TCP port to listen on.")
    api_key_file: Annotated[Path | None, Optional] = Field(
        None,
        description="File with the API's keys, one a line (# begins a comment), not readable by "
        "others. Unset: $CREDENTIALS_DIRECTORY/api-key when it exists, else VLLM_API_KEY, else "
        "no key.",
    )
    # How much
    context: Int = Field(65536, ge=16, description="Longest request, prompt and answer, in tokens.")
    seats: Int = Field(8, ge=1, le=1024, description="Requests that may run at the same time.")
    kv_format: KvFormat = Field(
        "bf16",
        description="KV cache format of the model; "
        "int8 and int4 have one scale per token and head.",
    )
    drafter_kv_format: Annotated[KvFormat | None, Optional] = Field(
        None,
        description="KV cache format of the drafter. Unset: kv_format for mtp; "
        "for dflash2 int8 when kv_format is int8, else bf16.",
    )
    kv_bytes: Annotated[Bytes | None, Optional] = Field(
        None,
        ge=1,
        description="KV pool, pinned in bytes (5583457484 or 5.2GiB). "
        "Unset: sized by gpu_memory_utilization.",
    )
    gpu_memory_utilization: Float = Field(
        0.93,
        gt=0,
        le=0.99,
        description="Share of the card that must be free at the start; "
        "sizes the pool if kv_bytes is unset.",
    )
    prefix_cache: Bool = Field(
        True, description="Reuse attention KV and recurrent state of equal prefixes."
    )
    max_batched_tokens: Int = Field(
        2048, ge=1, description="Tokens of one engine step; larger chunks shrink the pool."
    )
    # Speculation
    speculation: Speculation = Field("none", description="How tokens are drafted.")
    draft_tokens: Annotated[Int | None, Optional] = Field(
        None,
        ge=0,
        le=63,
        description="Tokens drafted a step. Unset: 7 for dflash2, 3 for mtp, 0 for none.",
    )
    draft_tokens_by_batch: Annotated[Numbers | None, Optional] = Field(
        None,
        description="Tokens drafted in a step of 1, 2, ... requests, the last for all beyond "
        "(mtp only); none of them above draft_tokens. Unset: always draft_tokens.",
    )
    draft_sampling: Literal["probabilistic", "greedy"] = Field(
        "probabilistic",
        description="How drafts are picked; "
        "probabilistic drafts are accepted more often above temperature 0.",
    )
    rejection_sampling: Literal["standard", "block"] = Field(
        "standard", description="How drafts are verified; both keep the model's distribution."
    )
    mtp_draft_vocab: Bool = Field(
        True,
        description="Draft over the reduced vocabulary when the checkpoint has one (mtp only).",
    )
    draft_truncation: Bool = Field(
        True,
        description="Draft only what the request's top_k (up to 64) and top_p leave "
        "(probabilistic drafts); the output's distribution stays the same.",
    )
    candidate_topk: Literal["flashinfer", "torch", "triton"] = Field(
        "flashinfer",
        description="Kernel that finds dflash2's candidates. flashinfer is built with a CUDA "
        "compiler at the first start, torch and triton (ours) need none.",
    )
    split_attention: Bool = Field(
        True,
        description="Read the cache in parts side by side when drafts are verified, and let "
        "FlashAttention prefill over an int8 or int4 cache; false leaves both to vLLM's kernels.",
    )
    # Engine
    runner: Literal["v1", "v2"] = Field("v2", description="vLLM's model runner.")
    device: Literal["cuda", "cpu"] = Field("cuda", description="Where the engine runs.")
    dtype: Literal["bfloat16", "float16", "float32"] = Field(
        "bfloat16", description="Type of activations."
    )
    state_dtype: Literal["fp16", "bf16", "fp32"] = Field(
        "fp16", description="Type of the recurrent state."
    )
    attention_backend: Annotated[Backend | None, Optional] = Field(
        None,
        description="Attention kernels. Unset: by kv_format (bf16 FLASH_ATTN, fp8 FLASHINFER, "
        "int8 and int4 TRITON_ATTN).",
    )
    drafter_attention_backend: Annotated[Backend | None, Optional] = Field(
        None,
        description="Attention kernels of the dflash2 drafter. Unset: by drafter_kv_format.",
    )
    int8_activations: Literal["none", "mlp", "all"] = Field(
        "none",
        description="Linear layers whose input is rounded to int8 (Marlin W4A8): faster prefill "
        "and large batches, at a cost in quality. Head, embedding and drafters never.",
    )
    async_scheduling: Bool = Field(True, description="Prepare the next step while one runs.")
    graph_sizes: Annotated[GraphSizes | None, Optional] = Field(
        None,
        description="Largest CUDA graph in tokens, or a list of exact sizes. Unset: "
        "the largest decode step, seats x (draft_tokens + 1), at most 512.",
    )
    graph_bytes: Annotated[Bytes | None, Optional] = Field(
        None,
        ge=0,
        description="Memory that the pool leaves to CUDA graphs when kv_bytes is unset. "
        "Unset: the plan's estimate.",
    )
    eager: Bool = Field(False, description="No CUDA graphs and no compilation.")
    language_model_only: Bool = Field(True, description="Leave the vision tower out (2.7 GB).")
    expandable_segments: Annotated[Bool | None, Optional] = Field(
        None, description="PyTorch's growing allocator segments. Unset: true, on WSL2 false."
    )
    # API
    tools: Bool = Field(
        True,
        description="Tool calls, in the form that the chat template asks for (vLLM's qwen3_coder).",
    )
    reasoning: Bool = Field(True, description="Separate the thinking text (parser qwen3).")
    temperature: Annotated[Float | None, Optional] = Field(
        None,
        ge=0,
        le=2,
        description="Default temperature of requests. "
        "Unset: the checkpoint's generation_config.json.",
    )
    max_body_bytes: Bytes = Field(
        8 * 2**20,
        ge=1024,
        description="Longest body of a request (8388608 or 8MiB); a longer one is answered 413.",
    )
    max_json_depth: Int = Field(
        64,
        ge=8,
        le=200,
        description="Deepest nesting of a request's JSON; a deeper one is answered 400. The time "
        "that a schema takes grows with the third power of its depth.",
    )
    max_grammar_repeats: Int = Field(
        4000,
        ge=100,
        le=10000,
        description="Most parts that the repetition counts of a request's patterns, grammars and "
        "schemas may unfold to, together; more are answered 400. The time grows with their square.",
    )
    keep_alive_interval: Float = Field(
        15.0,
        ge=0,
        le=3600,
        description="Seconds of silence after which a comment goes into a streamed answer, so that "
        "proxies do not cut it during a long prompt. 0: never.",
    )
    request_log: Bool = Field(
        True,
        description="Log a line for each request: tokens, cached tokens, time to the first token, "
        "speed; never its text.",
    )
    # Supervision, in seconds
    ready_timeout: Int = Field(
        1800,
        ge=1,
        description="Seconds until a token must have been generated; a first start compiles.",
    )
    warmup: Bool = Field(
        False,
        description="Run requests of many shapes before the server is ready: no user's request "
        "then waits for a kernel to compile, and too little memory shows at the start.",
    )
    shutdown_timeout: Int = Field(
        30, ge=0, description="Seconds that running requests get to finish when the server stops."
    )
    kill_timeout: Int = Field(
        20, ge=1, description="Seconds beyond shutdown_timeout until the engine is killed."
    )
    health_interval: Float = Field(
        5.0, gt=0, le=3600, description="Seconds between two health requests of the supervisor."
    )
    stall_timeout: Int = Field(
        300,
        ge=1,
        description="Seconds that one engine step may take once the server is ready; then the "
        "engine is stopped as stalled. The slowest step that is right is a first one of its shape, "
        "which compiles kernels: tens of seconds.",
    )
    request_timeout: Int = Field(
        600,
        ge=0,
        description="Seconds that a request may stand still while engine steps go on; then the "
        "engine is stopped. Waiting for a seat, or for prompts before it, is not standing still. "
        "0: never.",
    )
    engine: EngineSection = Field(
        default_factory=lambda: EngineSection.model_validate({}), description="The engine process."
    )


def keys() -> tuple[str, ...]:
    """Return every setting's key, ``engine.command`` and its like included."""
    flat = [name for name in ServeConfig.model_fields if name != "engine"]
    return (*flat, *(f"engine.{name}" for name in EngineSection.model_fields))
