"""Does the configuration fit: pool, prefix cache, and CUDA graphs for every decode step?"""

from collections.abc import Iterator
from pathlib import Path

from qwen3090.config import ServeConfig
from qwen3090.config.derive import MAX_GRAPH, decode_lengths
from qwen3090.errors import UserError
from qwen3090.plan import Geometry, Plan, compute
from qwen3090.plan.graphs import capture_sizes, decode_graphs, most_tokens
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
    if len(blocks) > 1 and plan.hit_block == plan.scheduler_block:
        text = f"groups have blocks of {blocks} tokens: hits, at {plan.hit_block}s, are rare"
        return Finding("settings.prefix-cache", Status.WARN, text, show)
    text = f"recurrent state in align mode, hits end at multiples of {plan.hit_block} tokens"
    return Finding("settings.prefix-cache", Status.PASS, text)


def decode_shapes(config: ServeConfig) -> dict[int, int]:
    """Return the tokens of the full graph that decodes 1, 2, ... requests (``decode_graphs``)."""
    sizes, lengths = config.graph_sizes or (), decode_lengths(config)
    if isinstance(sizes, int):
        sizes = capture_sizes(sizes, lengths)
    return decode_graphs(sizes, lengths)


def check_graphs(config: ServeConfig) -> Iterator[Finding]:
    """Yield whether every number of decoding requests has a graph."""
    if config.device != "cuda" or config.eager:
        yield Finding("settings.graphs", Status.SKIP, "no CUDA graphs are asked for")
        return
    lengths, covered = decode_lengths(config), decode_shapes(config)
    query = " or ".join(str(length) for length in dict.fromkeys(lengths))
    without = [n for n in range(1, config.seats + 1) if n not in covered]
    cure = f"--set graph_sizes={min(most_tokens(lengths), MAX_GRAPH)}"
    if not covered:
        text = f"graph_sizes = {config.graph_sizes}: no step of {query} tokens a request has one"
        yield Finding("settings.graphs", Status.FAIL, text, cure)
    elif without:
        tokens = without[0] * lengths[without[0] - 1]
        text = f"steps of {without[0]} requests and more ({tokens} tokens) have none"
        if without != list(range(without[0], config.seats + 1)):
            text = (
                f"steps of {', '.join(map(str, without))} requests, {query} tokens each, have none"
            )
        yield Finding("settings.graphs", Status.WARN, text, cure)
    else:
        text = f"steps of 1 to {config.seats} requests, {query} tokens each, have one"
        yield Finding("settings.graphs", Status.PASS, text)
