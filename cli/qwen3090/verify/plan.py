"""Does the configuration fit: pool, prefix cache, and CUDA graphs for every decode step?"""

from collections.abc import Iterator
from pathlib import Path

from qwen3090.config import ServeConfig
from qwen3090.config.derive import MAX_GRAPH
from qwen3090.errors import UserError
from qwen3090.plan import Geometry, Plan, compute
from qwen3090.serve.plan_gate import plan_input
from qwen3090.verify.report import Finding, Status


def planned(config: ServeConfig) -> Plan | None:
    """Return the memory plan: of the checkpoint when it is there, else of the built-in model.

    None where neither applies: without ``kv_bytes`` vLLM sizes the pool itself, and a CPU serves a
    model of its own.

    Raises:
        UserError: the checkpoint is not of this architecture.
    """
    if config.kv_bytes is None:
        return None
    if config.model is not None and (config.model / "config.json").is_file():
        drafter = _drafter(config)
        return compute(plan_input(config), Geometry.from_checkpoint(config.model, drafter))
    return compute(plan_input(config)) if config.device == "cuda" else None


def _drafter(config: ServeConfig) -> Path | None:
    there = config.drafter is not None and (config.drafter / "config.json").is_file()
    return config.drafter if config.speculation == "dflash2" and there else None


def check_plan(config: ServeConfig, profile: str) -> Iterator[Finding]:
    """Yield findings about the pool, prefix caching and graph sizes."""
    show = f"qwen3090 plan {profile}"
    try:
        plan = planned(config)
    except UserError as error:
        yield Finding("settings.plan", Status.FAIL, error.message, error.next_step or show)
        return
    if plan is None:
        yield Finding("settings.plan", Status.SKIP, "kv_bytes or the model is not known")
    else:
        yield _pool(plan, show)
        yield _prefix_cache(config, plan, show)
    yield from check_graphs(config)


def _pool(plan: Plan, show: str) -> Finding:
    need = f"{plan.blocks_needed} blocks needed, {plan.blocks_available} available"
    if plan.problems or not plan.fits:
        reasons = [f"{item.key}: {item.why}" for item in plan.problems]
        text = "; ".join([*reasons, need])
        return Finding("settings.plan", Status.FAIL, text, show)
    return Finding("settings.plan", Status.PASS, f"pool of {plan.pool_tokens:,} tokens, {need}")


def _prefix_cache(config: ServeConfig, plan: Plan, show: str) -> Finding:
    if not config.prefix_cache:
        return Finding("settings.prefix-cache", Status.SKIP, "off")
    blocks = sorted({group.spec.block for group in plan.groups})
    if len(blocks) > 1:
        # Between two state blocks the state is that of another prefix; on a common multiple it is
        # right, but few prompts reach one.
        wrong = plan.hit_block < plan.scheduler_block
        why = "resume from another prefix's state" if wrong else "are rare"
        text = f"groups have blocks of {blocks} tokens: hits, at {plan.hit_block}s, {why}"
        return Finding("settings.prefix-cache", Status.FAIL if wrong else Status.WARN, text, show)
    text = f"recurrent state in align mode, hits end at multiples of {plan.hit_block} tokens"
    return Finding("settings.prefix-cache", Status.PASS, text)


def decode_shapes(config: ServeConfig) -> dict[int, int]:
    """Return tokens of the graph that decodes 1, 2, ... requests; requests without one are absent.

    Mirrors ``CudaGraphManager._init_candidates`` (vllm/v1/worker/gpu/cudagraph_utils.py:183): sizes
    are rounded up to whole requests, and dropped beyond the largest size or all seats.
    """
    query = (config.draft_tokens or 0) + 1
    if isinstance(config.graph_sizes, tuple):
        listed = config.graph_sizes
    else:
        listed = default_sizes(config.graph_sizes or 0)
    largest = max(listed, default=0)
    sizes = sorted({-(-size // query) * query for size in listed})
    sizes = [s for s in sizes if s <= min(largest, config.seats * query)]
    found = {}
    for requests in range(1, config.seats + 1):
        if fitting := [size for size in sizes if size >= requests * query]:
            found[requests] = fitting[0]
    return found


def default_sizes(largest: int) -> tuple[int, ...]:
    """Return the sizes that vLLM captures up to a largest one, which need not be among them.

    Mirrors ``VllmConfig._set_cudagraph_sizes`` (vllm/config/vllm.py:1970).
    """
    steps = (1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16))
    return tuple(size for size in steps if size <= largest)


def check_graphs(config: ServeConfig) -> Iterator[Finding]:
    """Yield whether every number of decoding requests has a graph."""
    if config.device != "cuda" or config.eager:
        yield Finding("settings.graphs", Status.SKIP, "no CUDA graphs are asked for")
        return
    query, covered = (config.draft_tokens or 0) + 1, decode_shapes(config)
    without = [n for n in range(1, config.seats + 1) if n not in covered]
    # vLLM's grid has steps of 8: the next one holds all seats.
    cure = f"--set graph_sizes={min(-(-config.seats * query // 8) * 8, MAX_GRAPH)}"
    if not covered:
        text = f"graph_sizes = {config.graph_sizes}: no step of {query} tokens a request has one"
        yield Finding("settings.graphs", Status.FAIL, text, cure)
    elif without:
        text = f"steps of {without[0]} requests and more ({without[0] * query} tokens) have none"
        yield Finding("settings.graphs", Status.WARN, text, cure)
    else:
        text = f"steps of 1 to {config.seats} requests, {query} tokens each, have one"
        yield Finding("settings.graphs", Status.PASS, text)
