"""Computes the memory plan: the one function that everything asks what fits into the pool."""

from dataclasses import dataclass, field
from math import gcd, lcm

from qwen3090.plan.geometry import Geometry
from qwen3090.plan.groups import Group, make_groups
from qwen3090.plan.inputs import PlanInput
from qwen3090.plan.need import (
    blocks_needed,
    blocks_prefilling,
    longest_that_fits,
    resident_seats,
)
from qwen3090.plan.pages import PageError, promote_windows, unify
from qwen3090.plan.problems import Facts, Problem, find_problems
from qwen3090.plan.specs import ATTENTION, RECURRENT, WINDOW, build_layers

DEFAULT_CONTEXTS = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144)


@dataclass(frozen=True)
class Plan:
    """The pool of one server, exactly as vLLM 0.28.0 with the patch series computes it.

    Attributes:
        inputs, geometry: what it was computed from.
        pool_tokens: the engine's "GPU KV cache size"; by the same formula when it does not fit.
        blocks_needed: blocks of one request of ``context`` tokens.
        blocks_available: blocks of the pool (one of them is the null block).
        block_size: tokens of a block of the target's attention.
        window_block: tokens of a block of the drafter's window layers; None without them.
        page_bytes: bytes of a block in one layer.
        block_bytes: bytes of a block over all layer slots.
        state_bytes: bytes of one recurrent state of one layer, without padding.
        fits: whether one request of ``context`` tokens fits (vLLM refuses to start otherwise).
        max_context: longest request that fits, at most ``context``.
        groups: the KV-cache groups.
        scheduler_block, hash_block: the engine's alignment of requests and of hashes, in tokens.
        hit_block: prefix hits end at multiples of it, in tokens.
        seats_by_context: requests of a length that are resident at once.
        kv_bytes: bytes of the pool that the figures are for.
        estimated: whether ``kv_bytes`` is an estimate, and with it every figure of the pool.
        problems: settings that cannot run, or would run wrong; empty when all is well.
    """

    inputs: PlanInput
    geometry: Geometry
    pool_tokens: int
    blocks_needed: int
    blocks_available: int
    block_size: int
    window_block: int | None
    page_bytes: int
    block_bytes: int
    state_bytes: int
    fits: bool
    max_context: int
    groups: tuple[Group, ...]
    scheduler_block: int
    hash_block: int
    hit_block: int
    seats_by_context: dict[int, int]
    kv_bytes: int
    estimated: bool
    problems: tuple[Problem, ...] = field(default=())


def compute(
    inputs: PlanInput,
    geometry: Geometry | None = None,
    *,
    contexts: tuple[int, ...] = (),
    pool_bytes: int | None = None,
) -> Plan:
    """Return the memory plan of some settings.

    Args:
        inputs: the settings.
        geometry: the model; None is the built-in one.
        contexts: lengths (tokens) to count resident requests for; empty takes powers of two up
            to ``context``, and ``context`` itself.
        pool_bytes: bytes of the pool when ``inputs.kv_bytes`` is unset (an estimate; see
            ``budget.py``); 0 when not known.

    Raises:
        UserError: the model lacks what the settings ask for.
    """
    geometry = geometry or Geometry.builtin()
    layers = build_layers(inputs, geometry)
    hybrid = inputs.kv_groups == "hybrid"
    page_error = ""
    specs = promote_windows(layers.specs) if hybrid else layers.specs
    try:
        specs = unify(specs)
    except PageError as error:
        page_error = str(error)
    groups = make_groups(specs, hybrid=hybrid)
    page = max(g.spec.page for g in groups)
    slots = max(g.layers for g in groups)
    kv_bytes = inputs.kv_bytes if inputs.kv_bytes is not None else pool_bytes or 0
    available = 0 if page_error else kv_bytes // page // slots
    needed = blocks_needed(groups, inputs.context, inputs)
    scheduler, hashing, hits = _block_sizes(groups, inputs)
    fits = not page_error and needed <= available
    longest = 0 if page_error else longest_that_fits(groups, available, inputs)
    block = next(g.spec.block for g in groups if g.spec.kind == ATTENTION)
    window = next((g.spec.block for g in groups if g.spec.kind == WINDOW), None)
    facts = Facts(
        groups=groups,
        target_page=layers.target_block
        * inputs.target_format.token_bytes(geometry.kv_heads, geometry.head_dim),
        page=page,
        slots=slots,
        needed=needed,
        peak=blocks_prefilling(groups, inputs.context, inputs),
        available=available,
        longest=longest,
        kv_bytes=kv_bytes,
        scheduler_block=scheduler,
        hash_block=hashing,
        hit_block=hits,
        page_error=page_error,
    )
    return Plan(
        inputs=inputs,
        geometry=geometry,
        pool_tokens=int(available / needed * inputs.context),
        blocks_needed=needed,
        blocks_available=available,
        block_size=block,
        window_block=window,
        page_bytes=page,
        block_bytes=page * slots,
        state_bytes=layers.state_bytes,
        fits=fits,
        max_context=longest,
        groups=groups,
        scheduler_block=scheduler,
        hash_block=hashing,
        hit_block=hits,
        seats_by_context={
            n: resident_seats(groups, available, n, inputs)
            for n in contexts or _default_contexts(inputs.context)
        },
        kv_bytes=kv_bytes,
        estimated=inputs.kv_bytes is None,
        problems=find_problems(inputs, geometry, facts),
    )


def _default_contexts(context: int) -> list[int]:
    return [*(n for n in DEFAULT_CONTEXTS if n < context), context]


def _block_sizes(groups: tuple[Group, ...], inputs: PlanInput) -> tuple[int, int, int]:
    """Return the engine's scheduler and hash blocks, and where prefix hits may end.

    Mirrors ``resolve_kv_cache_block_sizes`` (v1/core/kv_cache_utils.py) and
    ``enable_partial_hash_hits`` (v1/core/kv_cache_coordinator.py): window layers cannot be hit
    inside a block.
    """
    blocks = [g.spec.block for g in groups]
    scheduler = lcm(*blocks)
    if not inputs.prefix_cache:
        return scheduler, scheduler, scheduler
    hashing = gcd(*blocks)
    partial = any(g.spec.kind == RECURRENT and g.spec.block > hashing for g in groups) and all(
        g.spec.kind != WINDOW or g.spec.block == hashing for g in groups
    )
    return scheduler, hashing, hashing if partial else scheduler
