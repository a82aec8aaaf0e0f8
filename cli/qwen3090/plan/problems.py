"""Names the settings that vLLM 0.28.0 with the series cannot run, or would run wrong, and why.

Each rule gives the file of the engine that is the reason. A rule that a later patch makes
obsolete goes with that patch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from qwen3090.plan.formats import FIXED_KERNEL_BLOCKS, KVARN, KVFormat
from qwen3090.plan.geometry import Geometry
from qwen3090.plan.groups import Group
from qwen3090.plan.inputs import PlanInput
from qwen3090.plan.specs import ATTENTION, RECURRENT, WINDOW

MTP_FLASHINFER_DRAFTS = 3


class Problem(NamedTuple):
    """One reason why the settings do not work.

    Attributes:
        key: the setting to change.
        why: what happens and where in the engine.
        instead: what to set.
    """

    key: str
    why: str
    instead: str


@dataclass(frozen=True)
class Facts:
    """The computed figures that the rules look at; see ``Plan`` for their meaning."""

    groups: tuple[Group, ...]
    target_page: int
    page: int
    slots: int
    needed: int
    peak: int
    available: int
    longest: int
    kv_bytes: int
    scheduler_block: int
    hash_block: int
    hit_block: int
    page_error: str


def find_problems(inputs: PlanInput, geometry: Geometry, facts: Facts) -> tuple[Problem, ...]:
    """Return every problem, formats first, then pages, prefix caching, lengths and the pool."""
    return (
        *_formats(inputs),
        *_drafting(inputs, geometry),
        *_pages(inputs, facts),
        *_prefix_cache(inputs, facts),
        *_lengths(inputs, geometry),
        *_pool(inputs, facts),
    )


def _formats(inputs: PlanInput) -> Iterator[Problem]:
    yield from _format("kv_format", inputs.target_format, inputs.target_backend, inputs.device)
    if inputs.speculation == "none":
        return
    draft = inputs.drafter_format
    if draft != inputs.target_format:
        yield from _format("drafter_kv_format", draft, inputs.draft_backend, inputs.device)


def _format(key: str, fmt: KVFormat, backend: str, device: str) -> Iterator[Problem]:
    name = fmt.name
    if name == KVARN:
        yield Problem(
            key,
            "vLLM 0.28.0 has no KVarN cache (config/cache.py, CacheDType); the figures show what "
            "one would hold",
            f"set {key} to int4",
        )
        return
    if device == "cpu":
        if fmt.scaled:
            yield Problem(
                key,
                f"the CPU backend stores no {name} (v1/attention/backends/cpu_attn.py)",
                f"set {key} to bf16 or fp8",
            )
        return
    if name == "fp8" and backend == "FLASH_ATTN":
        yield Problem(
            key,
            "FLASH_ATTN stores fp8 with FlashAttention 3 on sm_90 or 4 on sm_100 only, not on "
            "sm_86 (v1/attention/backends/flash_attn.py:234)",
            f"set attention_backend to FLASHINFER, or {key} to int8",
        )
    elif name in ("fp8", "fp8_per_token_head") and backend == "TRITON_ATTN":
        yield Problem(
            key,
            f"TRITON_ATTN stores {name} from compute capability 8.9 on; a 3090 has 8.6 "
            "(v1/attention/backends/triton_attn.py:540)",
            f"set {key} to int8"
            if fmt.scaled
            else f"set attention_backend to FLASHINFER, or {key} to int8",
        )
    elif fmt.scaled and backend in ("FLASH_ATTN", "FLASHINFER"):
        yield Problem(
            key,
            f"{backend} stores no {fmt.vllm} cache "
            f"(v1/attention/backends/{backend.lower()}.py, "
            "supported_kv_cache_dtypes)",
            f"set attention_backend to TRITON_ATTN, or {key} to bf16",
        )


def _drafting(inputs: PlanInput, geometry: Geometry) -> Iterator[Problem]:
    if inputs.speculation != "none" and inputs.k == 0:
        yield Problem(
            "draft_tokens",
            f"speculation is {inputs.speculation}, and nothing is drafted "
            "(config/speculative.py, num_speculative_tokens)",
            "set draft_tokens to at least 1, or speculation to none",
        )
    if inputs.speculation == "mtp" and inputs.drafter_format != inputs.target_format:
        yield Problem(
            "drafter_kv_format",
            f"an MTP layer with a {inputs.drafter_format.name} cache beside a "
            f"{inputs.target_format.name} target is a bucket of its own, and a bucket of one layer "
            "makes groups of one layer (v1/core/kv_cache_utils.py, "
            "_get_kv_cache_groups_uniform_page_size)",
            f"set drafter_kv_format to {inputs.target_format.name}",
        )
    flashinfer = inputs.speculation == "mtp" and inputs.target_backend == "FLASHINFER"
    if flashinfer and inputs.k > MTP_FLASHINFER_DRAFTS:
        yield Problem(
            "draft_tokens",
            f"FlashInfer reads out of bounds with {inputs.k} MTP drafts when one request ends "
            "while another runs; 3 drafts work",
            f"set draft_tokens to at most {MTP_FLASHINFER_DRAFTS}, or kv_format to bf16",
        )
    if inputs.speculation == "dflash2" and geometry.drafter is not None:
        trained = geometry.drafter.block_size - 1
        if inputs.k > trained:
            yield Problem(
                "draft_tokens",
                f"the drafter fills a block of {trained + 1} (1 anchor + {trained} drafts); more "
                "drafts need lookup drafting, which 0.28.0 has not (v1/worker/gpu/spec_decode/"
                "dflash2/speculator.py drafts them all itself)",
                f"set draft_tokens to at most {trained}",
            )


def _pages(inputs: PlanInput, facts: Facts) -> Iterator[Problem]:
    if facts.page_error:
        yield Problem(
            "drafter_kv_format",
            f"{facts.page_error} (v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size)",
            "set drafter_kv_format to the target's kv_format",
        )
        return
    for group in facts.groups:
        fixed = FIXED_KERNEL_BLOCKS.get(group.spec.layout[3])
        if fixed and group.spec.padded is not None and group.spec.block not in fixed:
            key = "kv_format" if group.spec.kind == ATTENTION else "drafter_kv_format"
            yield Problem(
                key,
                f"a page of {group.spec.content:,} bytes padded to {facts.page:,} cannot be cut "
                f"into FlashInfer's kernel blocks of at most {fixed[-1]} tokens "
                "(v1/worker/gpu/attn_utils.py:292-317 strides by the whole page)",
                "give target and drafter the same bytes a token: set drafter_kv_format to "
                f"{inputs.target_format.name}",
            )
            return


def _prefix_cache(inputs: PlanInput, facts: Facts) -> Iterator[Problem]:
    if not inputs.prefix_cache:
        return
    state = next(g.spec.block for g in facts.groups if g.spec.kind == RECURRENT)
    window = next((g.spec.block for g in facts.groups if g.spec.kind == WINDOW), state)
    if facts.hit_block > inputs.context:
        yield Problem(
            "prefix_cache",
            f"window block {window} and state block {state} meet only every "
            f"{facts.scheduler_block:,} tokens (hashes every {facts.hash_block}), beyond the "
            f"context of {inputs.context:,}: no prefix would ever hit "
            "(v1/core/kv_cache_utils.py, resolve_kv_cache_block_sizes)",
            "set prefix_cache to false, or other draft_tokens or drafter_kv_format",
        )


def _lengths(inputs: PlanInput, geometry: Geometry) -> Iterator[Problem]:
    if inputs.context > geometry.max_context:
        yield Problem(
            "context",
            f"context is {inputs.context:,}, but the model was made for {geometry.max_context:,} "
            "tokens (max_position_embeddings)",
            f"set context to at most {geometry.max_context}",
        )


def _pool(inputs: PlanInput, facts: Facts) -> Iterator[Problem]:
    if facts.page_error or not facts.kv_bytes:
        return
    block = facts.page * facts.slots
    if facts.needed > facts.available:
        yield Problem(
            "context",
            f"one request of {inputs.context:,} tokens needs {facts.needed} blocks "
            f"({facts.needed * block:,} bytes), the pool has {facts.available} "
            f"({facts.kv_bytes:,} bytes)",
            f"set context to at most {facts.longest}"
            if facts.longest
            else f"set kv_bytes to at least {facts.needed * block}",
        )
    elif facts.peak > facts.available - 1:
        yield Problem(
            "context",
            f"one request of {inputs.context:,} tokens peaks at {facts.peak} blocks, but of the "
            f"pool's {facts.available} one is the engine's null block: the engine would start, and "
            "such a request would be preempted for ever",
            f"set kv_bytes to at least {(facts.peak + 1) * block}",
        )
