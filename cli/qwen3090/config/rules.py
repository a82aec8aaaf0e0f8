"""Combinations that cannot run, each with reason and cure. The file system is files.py's."""

import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path

from qwen3090.config.derive import MAX_GRAPH, decode_lengths, largest_graph
from qwen3090.config.engine_rules import engine_problems
from qwen3090.config.model import MAX_CONTEXT, ServeConfig
from qwen3090.config.problems import Found
from qwen3090.plan.graphs import most_tokens

# vLLM takes the drafting method from these words when they occur in the drafter's path,
# and with MTP the drafter's path is the model's.
METHOD_WORDS = ("dflash", "eagle-", "eagle3", "dspark")
BACKENDS_OF = {
    "bf16": ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN"),
    "fp8": ("FLASHINFER",),
    "int8": ("TRITON_ATTN",),
    "int4": ("TRITON_ATTN",),
}
DFLASH2_BLOCK = 8


Rule = Callable[[ServeConfig], Iterator[Found]]


def _texts(c: ServeConfig) -> Iterator[Found]:
    values: dict[str, object] = c.model_dump(exclude={"engine"})
    values |= {f"engine.{key}": value for key, value in c.engine.model_dump().items()}
    for key, value in values.items():
        if any("\0" in text for text in _strings(value)):
            yield Found((key,), f"{key} holds a NUL byte", f"take it out of {key}")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for text in pair)
    elif isinstance(value, tuple | list):
        yield from (str(item) for item in value)


def _model(c: ServeConfig) -> Iterator[Found]:
    if c.model is None:
        text = "model is not set: the directory of the prepared checkpoint"
        yield Found(("model",), text, "--set model=DIRECTORY (qwen3090 prepare makes one)")
    if c.speculation == "dflash2" and c.drafter is None:
        text = "drafter is not set: speculation = dflash2 needs the drafter's directory"
        yield Found(
            ("drafter", "speculation"), text, "--set drafter=DIRECTORY, or --set speculation=mtp"
        )
    word = next((w for w in METHOD_WORDS if w in str(c.model).lower()), None)
    if word and c.speculation == "mtp":
        text = f"model = {c.model}: vLLM would take '{word}' in the path for the drafting method"
        yield Found(("model",), text, f"rename the directory, or link to it: ln -s {c.model} NAME")
    if any(char.isspace() for char in c.served_name) or c.served_name.startswith("-"):
        text = f"served_name = {c.served_name!r}: no spaces, and no '-' at the beginning"
        yield Found(("served_name",), text, "--set served_name=NAME")


def _sizes(c: ServeConfig) -> Iterator[Found]:
    if c.context > MAX_CONTEXT:
        text = f"context = {c.context}: the model's longest is {MAX_CONTEXT}"
        yield Found(("context",), text, f"--set context={MAX_CONTEXT}")
    step = c.seats * ((c.draft_tokens or 0) + 1)
    if step > c.max_batched_tokens:
        text = (
            f"seats x (draft_tokens + 1) = {step} tokens do not fit into one step of "
            f"max_batched_tokens = {c.max_batched_tokens}"
        )
        yield Found(
            ("seats", "draft_tokens", "max_batched_tokens"),
            text,
            f"--set max_batched_tokens={step}",
        )


def _graphs(c: ServeConfig) -> Iterator[Found]:
    if c.device != "cuda" or c.eager or c.graph_sizes is None:
        return
    lengths = decode_lengths(c)
    largest, one, most = largest_graph(c.model_dump()), lengths[0], most_tokens(lengths)
    sizes = (c.graph_sizes,) if isinstance(c.graph_sizes, int) else c.graph_sizes
    if any(size < 1 for size in sizes):
        text = f"graph_sizes = {c.graph_sizes}: a graph has 1 token or more"
        yield Found(("graph_sizes",), text, f"--set graph_sizes={most}")
        return
    limit = min(MAX_GRAPH, c.max_batched_tokens)
    if largest < one:
        text = f"graph_sizes = {largest}: a step has {one} tokens or more, none would use a graph"
        yield Found(("graph_sizes", "draft_tokens"), text, f"--set graph_sizes={most}")
    if largest > limit:
        text = f"graph_sizes = {largest}: more than {limit} tokens take memory that no step uses"
        yield Found(("graph_sizes", "max_batched_tokens"), text, f"--set graph_sizes={limit}")


def _speculation(c: ServeConfig) -> Iterator[Found]:
    keys, k = ("speculation", "draft_tokens"), c.draft_tokens or 0
    if c.speculation == "none" and k:
        yield Found(keys, f"draft_tokens = {k} with speculation = none", "--set draft_tokens=0")
    if c.speculation != "none" and not k:
        yield Found(
            keys, f"draft_tokens = 0 with speculation = {c.speculation}", "--set speculation=none"
        )
    if c.speculation == "dflash2" and k >= DFLASH2_BLOCK:
        text = f"draft_tokens = {k}: the drafter's block holds {DFLASH2_BLOCK - 1} drafts"
        yield Found(keys, text, f"--set draft_tokens={DFLASH2_BLOCK - 1}")
    if c.speculation == "mtp" and c.kv_format == "fp8" and k > 3:
        text = f"draft_tokens = {k} with mtp on an fp8 cache: FlashInfer crashes beyond 3"
        yield Found(("draft_tokens", "kv_format"), text, "--set draft_tokens=3")


def _by_batch(c: ServeConfig) -> Iterator[Found]:
    drafts, key = c.draft_tokens_by_batch, "draft_tokens_by_batch"
    if drafts is None:
        return
    cure = f"--set {key}=none"
    text = f"{key} = {list(drafts)}"
    if c.speculation != "mtp":
        why = "a step drafts one block" if c.speculation == "dflash2" else "nothing is drafted"
        yield Found((key, "speculation"), f"{text} with speculation = {c.speculation}: {why}", cure)
        return
    if not drafts or min(drafts) < 1:
        yield Found((key,), f"{text}: every step drafts 1 token or more", cure)
    elif max(drafts) != c.draft_tokens:
        text += f": the most is {max(drafts)}, and draft_tokens = {c.draft_tokens}"
        yield Found((key, "draft_tokens"), text, f"--set draft_tokens={max(drafts)}, or {cure}")
    if c.device == "cuda" and c.runner == "v1":
        text = f"{key} on runner = v1: no decode step would have a full CUDA graph"
        yield Found((key, "runner"), text, "--set runner=v2")


def _backends(c: ServeConfig) -> Iterator[Found]:
    if c.device == "cuda":
        yield from _backend("attention_backend", "kv_format", c.attention_backend, c.kv_format)
        if c.speculation == "dflash2":
            yield from _backend(
                "drafter_attention_backend",
                "drafter_kv_format",
                c.drafter_attention_backend,
                c.drafter_kv_format or c.kv_format,
            )


def _backend(key: str, format_key: str, backend: str | None, kv_format: str) -> Iterator[Found]:
    fitting = BACKENDS_OF[kv_format]
    if backend not in fitting:
        text = f"{key} = {backend} cannot read {format_key} = {kv_format} on this card"
        yield Found((key, format_key), text, f"--set {key}={fitting[0]}")


def _runner(c: ServeConfig) -> Iterator[Found]:
    if c.runner == "v2":
        return
    if c.speculation == "dflash2":
        text = "dflash2 needs runner = v2: v1 would draft without the candidate selector"
        yield Found(("runner", "speculation"), text, "--set runner=v2")
    if c.speculation == "mtp" and c.draft_sampling == "probabilistic":
        text = "draft_sampling = probabilistic is served on runner = v2 only"
        yield Found(
            ("draft_sampling", "runner"), text, "--set draft_sampling=greedy, or --set runner=v2"
        )
    if c.speculation != "none" and c.rejection_sampling == "block":
        text = "rejection_sampling = block needs runner = v2: v1 would ignore it"
        yield Found(("rejection_sampling", "runner"), text, "--set rejection_sampling=standard")
    if c.device == "cuda" and c.speculation == "mtp" and c.prefix_cache:
        text = (
            "mtp with prefix_cache on runner = v1: "
            "a prompt's tail of draft_tokens + 1 is taken for a draft"
        )
        yield Found(
            ("runner", "prefix_cache"), text, "--set runner=v2, or --set prefix_cache=false"
        )


def _int8(c: ServeConfig) -> Iterator[Found]:
    if c.int8_activations == "none":
        return
    key = ("int8_activations",)
    if c.device == "cpu":
        text = f"int8_activations = {c.int8_activations}: the CPU engine has no such kernel"
        yield Found((*key, "device"), text, "--set int8_activations=none")
    if "VLLM_MARLIN_INPUT_DTYPE" in c.engine.env:
        text = (
            f"engine.env: VLLM_MARLIN_INPUT_DTYPE beside int8_activations = {c.int8_activations} "
            "would be ignored"
        )
        yield Found((*key, "engine.env"), text, "take it out of engine.env")


def _cpu(c: ServeConfig) -> Iterator[Found]:
    if c.device != "cpu":
        return
    interpreted = c.engine.env.get("TRITON_INTERPRET") == "1"
    if c.runner == "v2" and not interpreted:
        text = "runner = v2 needs Triton, which the CPU engine has not"
        yield Found(("runner", "device"), text, "--set runner=v1")
    if c.speculation == "mtp" and c.prefix_cache and not interpreted:
        text = "mtp with prefix_cache needs a Triton kernel, which the CPU engine has not"
        yield Found(("prefix_cache", "device"), text, "--set prefix_cache=false")
    if c.speculation == "mtp" and c.temperature != 0:
        text = "mtp on the CPU verifies drafts wrongly above temperature 0 in vLLM 0.28.0"
        yield Found(("temperature", "device"), text, "--set temperature=0")
    if c.kv_format != "bf16":
        text = f"kv_format = {c.kv_format}: the CPU engine keeps a bf16 cache"
        yield Found(("kv_format", "device"), text, "--set kv_format=bf16")
    if c.kv_bytes is None:
        text = "kv_bytes is not set: on a CPU the pool must be named"
        yield Found(("kv_bytes", "device"), text, "--set kv_bytes=1GiB")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _exposure(c: ServeConfig) -> Iterator[Found]:
    if not is_loopback(c.host) and c.api_key_file is None:
        text = f"host = {c.host} can be reached from other machines, and no api_key_file is set"
        yield Found(
            ("host", "api_key_file"), text, "--set api_key_file=FILE, or --set host=127.0.0.1"
        )


RULES: tuple[Rule, ...] = (
    _texts,
    _model,
    _sizes,
    _graphs,
    _speculation,
    _by_batch,
    _backends,
    _runner,
    _int8,
    _cpu,
    _exposure,
)


def problems(config: ServeConfig) -> list[Found]:
    """Return everything that forbids serving this configuration."""
    found = [item for rule in RULES for item in rule(config)]
    return found + list(engine_problems(config))


def notes(config: ServeConfig) -> list[Found]:
    """Return what is allowed but worth knowing."""
    found: list[Found] = []
    lengths = decode_lengths(config)
    largest = largest_graph(config.model_dump())
    if 0 < largest < most_tokens(lengths):
        seats = sum(n * length <= largest for n, length in enumerate(lengths, 1))
        text = f"graph_sizes = {largest}: beyond {seats} running requests a step uses no graph"
        found.append(Found(("graph_sizes", "seats"), text))
    if config.graph_bytes is not None and config.kv_bytes is not None:
        text = f"graph_bytes = {config.graph_bytes} changes nothing: kv_bytes names the pool's size"
        found.append(Found(("graph_bytes", "kv_bytes"), text))
    if config.state_dtype == "bf16":
        text = "state_dtype = bf16 has 7 mantissa bits; fp16 is as small and loses less"
        found.append(Found(("state_dtype",), text))
    return found
