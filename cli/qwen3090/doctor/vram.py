"""Is enough of the card's memory free for the settings, and who has the rest?"""

from collections.abc import Iterator

from qwen3090 import smi
from qwen3090.config import ServeConfig
from qwen3090.doctor.context import Context
from qwen3090.doctor.ours import is_ours
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.errors import UserError
from qwen3090.plan.budget import Item, budget, pool_estimate, weight_items
from qwen3090.serve.gpu import holders, needed_bytes
from qwen3090.serve.plan_gate import plan_input
from qwen3090.verify.report import Finding

TAKEN = fail(
    "vram.taken",
    "less memory is free than the engine asks for at its start",
    "stop the processes named above, or plan smaller: qwen3090 plan {profile} --set "
    "gpu_memory_utilization=SHARE --set kv_bytes=SIZE",
)
TIGHT = warn(
    "vram.tight",
    "by the plan's estimate weights, pool, graphs and transients need more than is free",
    "qwen3090 plan {profile} --set kv_bytes=SIZE (less than now), until 'left' is positive",
)


def vram(context: Context) -> Iterator[Finding]:
    """Compare free memory with what the engine asks for, then with what the plan expects."""
    config = context.config
    total, free = (context.number(name) for name in ("memory.total", "memory.free"))
    if total is None or free is None:
        yield skipped("vram", "the driver does not say how much is free")
        return
    free_bytes, total_bytes = int(free) * smi.MIB, int(total) * smi.MIB
    text = f"{_gib(free_bytes)} of {_gib(total_bytes)} free"
    if config is None:
        yield passed("vram", f"{text} (the settings cannot be read: needs are unknown)")
        return
    needed = needed_bytes(config, total_bytes)
    if free_bytes < needed:
        ours = [p for p in context.processes() or [] if is_ours(context.machine, p.pid)]
        if ours:
            yield passed("vram", f"{text}; held by this project's server (pid {ours[0].pid})")
            return
        who = "; ".join(holders(context.select, context.machine.run))
        yield TAKEN.found(
            f"{text}, {_gib(needed)} needed (gpu_memory_utilization = "
            f"{config.gpu_memory_utilization}); held by {who}",
            profile=context.profile,
        )
        return
    items = _shares(config, free_bytes)
    left = next((item.size for item in items if item.name == "left"), None)
    if left is not None and left < 0:
        shares = ", ".join(f"{i.name} {_gib(i.size)}" for i in items[:-1] if i.size)
        yield TIGHT.found(
            f"{text}; {shares}: {_gib(-left)} too much (an estimate)", profile=context.profile
        )
        return
    more = f", about {_gib(left)} left beside {context.profile}" if left is not None else ""
    yield passed("vram", f"{text}, {_gib(needed)} needed at the start{more}")


def _shares(config: ServeConfig, free: int) -> list[Item]:
    """Return the plan's shares of the free memory; none when a checkpoint cannot be read."""
    inputs = plan_input(config)
    model = config.model if config.model and config.model.is_dir() else None
    drafter = config.drafter if config.drafter and config.drafter.is_dir() else None
    try:
        weights = weight_items(inputs, config.variant, model, drafter)
    except UserError:
        return []
    return budget(inputs, weights, inputs.kv_bytes or pool_estimate(inputs, weights, free), free)


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


CHECKS = (
    Check(
        "vram",
        "Card",
        "free memory and who holds it, against the settings' needs",
        vram,
        (TAKEN, TIGHT),
        card=True,
    ),
)
