"""Is the card there and its memory free? A dirty card costs pool or fails minutes later."""

from collections.abc import Mapping, Sequence

from qwen3090 import bounded, smi
from qwen3090.config.model import ServeConfig
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from qwen3090.serve.holders import describe_pid

_NEXT = {
    "missing": "install the driver, or use the CPU profile: demo",
    "hung": "sudo reboot; before that, what the driver says: journalctl -k | grep NVRM",
}


def check_gpu(config: ServeConfig, environ: Mapping[str, str]) -> str:
    """Return a line about the card; vLLM itself asks for the same share of free memory.

    Raises:
        UserError: no card or driver, or too little free memory (NO_GPU_MEMORY).
    """
    select = smi.selected(environ)
    try:
        rows = smi.query(["name", "memory.total", "memory.free"], select)
    except smi.SmiError as error:
        raise _refuse(str(error), _NEXT.get(error.kind, "nvidia-smi")) from error
    if not rows:
        raise _refuse("no NVIDIA card is visible", "nvidia-smi must list the card")
    name = rows[0]["name"] or "the card"
    total, free = (smi.number(rows[0][field]) for field in ("memory.total", "memory.free"))
    if total is None or free is None:
        return f"{name}: the driver does not say how much memory is free"
    needed = needed_bytes(config, int(total) * smi.MIB)
    if int(free) * smi.MIB < needed:
        who = "\n- ".join(["held by:", *holders(select)])
        raise _refuse(
            f"{name}: {_gib(free)} of {_gib(total)} free, {needed / 2**30:.2f} GiB needed "
            f"(gpu_memory_utilization = {config.gpu_memory_utilization}); {who}",
            "stop them, or lower gpu_memory_utilization and kv_bytes",
        )
    return f"{name}: {_gib(free)} of {_gib(total)} free"


def needed_bytes(config: ServeConfig, total: int) -> int:
    """Return what vLLM wants free at the start on a card of ``total`` bytes."""
    return int(total * config.gpu_memory_utilization)


def holders(select: Sequence[str], run: smi.Runner = bounded.run) -> list[str]:
    """Return a line for each process that holds memory of the card, the largest first."""
    try:
        found = smi.processes(select, run)
    except smi.SmiError:
        return ["processes that nvidia-smi does not name"]
    found.sort(key=lambda item: -(item.used or 0))
    lines = [f"{describe_pid(item.pid, item.name)}: {_mib(item.used)}" for item in found]
    return lines or ["no process that nvidia-smi names (another user's, or a container's)"]


def _refuse(problem: str, next_step: str) -> UserError:
    return UserError(problem, next_step, exit_code=exit_codes.NO_GPU_MEMORY)


def _gib(mebibytes: float) -> str:
    return f"{mebibytes / 1024:.2f} GiB"


def _mib(size: int | None) -> str:
    return "an unknown share" if size is None else f"{size // smi.MIB} MiB"
