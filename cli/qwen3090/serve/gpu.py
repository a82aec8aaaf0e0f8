"""Is the card there and its memory free? A dirty card costs pool or fails minutes later."""

import subprocess
from collections.abc import Mapping

from qwen3090.config.model import ServeConfig
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from qwen3090.serve.holders import describe_pid

_MIB = 2**20


def check_gpu(config: ServeConfig, environ: Mapping[str, str]) -> str:
    """Return a line about the card; vLLM itself asks for the same share of free memory.

    Raises:
        UserError: no card or driver, or too little free memory (NO_GPU_MEMORY).
    """
    device = environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    select = ["-i", device] if device else []
    fields = "name,memory.total,memory.free"
    rows = _query([f"--query-gpu={fields}", *select])
    if not rows or len(rows[0]) != 3:
        raise _refuse("no NVIDIA card is visible", "nvidia-smi must list the card")
    name, total, free = rows[0][0], int(rows[0][1]) * _MIB, int(rows[0][2]) * _MIB
    needed = int(total * config.gpu_memory_utilization)
    if free < needed:
        holders = [
            f"{describe_pid(int(row[0]))}: {row[1]} MiB"
            for row in _query(["--query-compute-apps=pid,used_memory", *select])
            if row and row[0].isdigit()
        ]
        who = "\n- ".join(["held by:", *holders]) if holders else "no process is named: a desktop?"
        raise _refuse(
            f"{name}: {_gib(free)} of {_gib(total)} free, {_gib(needed)} needed "
            f"(gpu_memory_utilization = {config.gpu_memory_utilization}); {who}",
            "stop them, or lower gpu_memory_utilization and kv_bytes",
        )
    return f"{name}: {_gib(free)} of {_gib(total)} free"


def _query(options: list[str]) -> list[list[str]]:
    """Return nvidia-smi's rows of fields; no rows when it fails."""
    command = ["nvidia-smi", *options, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except FileNotFoundError as error:
        text = "nvidia-smi is not installed: no NVIDIA driver"
        raise _refuse(text, "install the driver, or use the CPU profile: demo") from error
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        detail = str(getattr(error, "stderr", "") or getattr(error, "stdout", "") or error).strip()
        raise _refuse(f"nvidia-smi failed: {detail[:200]}", "run nvidia-smi") from error
    return [
        [field.strip() for field in line.split(",")] for line in done.stdout.splitlines() if line
    ]


def _refuse(problem: str, next_step: str) -> UserError:
    return UserError(problem, next_step, exit_code=exit_codes.NO_GPU_MEMORY)


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"
