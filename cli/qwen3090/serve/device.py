"""Is there a card and a driver new enough? Just after the machine started, both are waited for.

The nodes below /dev appear when the driver's modules are loaded, which at boot may be after the
server is started. Later a missing node stays missing, so nobody waits in a terminal.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from qwen3090 import bounded, smi
from qwen3090.data import load_json
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes

BOOT_SECONDS = 300.0  # since the machine started: as long may modules take
WAIT_SECONDS = 120.0
ROOT = "QWEN3090_DEVICE_ROOT"


def nodes_of(environ: Mapping[str, str]) -> Path:
    """Return the folder of device nodes: /dev, or another where a container has them elsewhere."""
    return Path(environ.get(ROOT) or "/dev")


def missing_nodes(root: Path = Path("/dev")) -> list[str]:
    """Return the device nodes that CUDA needs and that are not there; under WSL2 one is enough."""
    if (root / "dxg").exists():
        return []
    missing = [
        str(root / name) for name in ("nvidiactl", "nvidia-uvm") if not (root / name).exists()
    ]
    if not any(path.name[6:].isdigit() for path in root.glob("nvidia[0-9]*")):
        missing.append(str(root / "nvidia0"))
    return missing


def wait_for_nodes(
    root: Path = Path("/dev"),
    uptime: Callable[[], float] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Return when the nodes are there, after at most ``WAIT_SECONDS`` while the machine boots.

    Returns:
        Seconds waited.

    Raises:
        UserError: a node is missing (NO_GPU_MEMORY).
    """
    ask = uptime or _uptime
    waited = 0.0
    while missing := missing_nodes(root):
        if waited >= WAIT_SECONDS or ask() > BOOT_SECONDS:
            after = f" {waited:.0f} s after the server was started" if waited else ""
            raise UserError(
                f"no device node {', '.join(missing)}{after}: the driver's modules are not loaded",
                "nvidia-smi as root, which makes them; qwen3090 doctor",
                exit_code=exit_codes.NO_GPU_MEMORY,
            )
        sleep(1.0)
        waited += 1.0
    return waited


def check_driver(environ: Mapping[str, str], run: smi.Runner = bounded.run) -> str:
    """Return the driver's version.

    Raises:
        UserError: it is older than nix/pins.json says (DRIVER_TOO_OLD).
    """
    least = str(load_json("pins.json")["cuda"]["driver"])
    try:
        rows = smi.query(["driver_version"], smi.selected(environ), run)
    except smi.SmiError:
        return "unknown"  # check_gpu asks nvidia-smi next and says what is wrong with it
    found = rows[0]["driver_version"] if rows else None
    if found is None:
        return "unknown"
    if is_older(found, least):
        raise UserError(
            f"the NVIDIA driver is {found}, and the engine's CUDA needs {least} or newer",
            f"install driver {least} or newer, then restart the machine",
            exit_code=exit_codes.DRIVER_TOO_OLD,
        )
    return found


def is_older(found: str, least: str) -> bool:
    """Return whether a driver's version is older than the least one, part by part."""
    return _parts(found) < _parts(least)


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def _uptime() -> float:
    try:
        return float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return BOOT_SECONDS + 1
