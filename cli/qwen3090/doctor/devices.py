"""The driver's libraries and device nodes: within the engine's reach, and open to this user?"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from qwen3090.doctor.context import Context
from qwen3090.doctor.driver import install, is_absent
from qwen3090.doctor.outcome import Check, fail, passed, skipped
from qwen3090.serve.device import missing_nodes
from qwen3090.setup.cuda import DRIVER_FOLDERS
from qwen3090.verify.report import Finding

NO_CUDA = fail("libraries.cuda", "libcuda.so.1 is in no folder of libraries", "{install}")
NO_NVML = fail(
    "libraries.nvml",
    "libnvidia-ml.so.1 is in none: vLLM asks it whether there is a card at all",
    "{install}",
)


def libraries(context: Context) -> Iterator[Finding]:
    """Check that the two libraries of the driver that the engine opens can be found."""
    if is_absent(context):
        yield skipped("libraries", "there is no driver")
        return
    cuda, nvml = _find(context, "libcuda.so.1"), _find(context, "libnvidia-ml.so.1")
    if cuda is None:
        yield NO_CUDA.found("no libcuda.so.1", **install(context))
    if nvml is None:
        yield NO_NVML.found("no libnvidia-ml.so.1", **install(context))
    if cuda and nvml:
        yield passed("libraries", f"{cuda}, {nvml}")


def _find(context: Context, name: str) -> str | None:
    machine, environ = context.machine, context.machine.environ
    named = [environ.get("TRITON_LIBCUDA_PATH", ""), *environ.get("LD_LIBRARY_PATH", "").split(":")]
    for folder in (*filter(None, named), *DRIVER_FOLDERS):
        if machine.exists(f"{folder}/{name}"):
            return f"{folder}/{name}"
    for ldconfig in ("ldconfig", "/sbin/ldconfig"):
        listed = machine.run([ldconfig, "-p"], 10).out
        match = re.search(rf"{re.escape(name)} \(.*x86-64.*=> (\S+)", listed)
        if match:
            return match[1]
    return None


NO_NODES = fail(
    "devices.missing",
    "a device node of the driver is not there",
    "sudo nvidia-modprobe -u -c=0",
)
NO_DXG = fail(
    "devices.wsl",
    "WSL2 shows no card: /dev/dxg is not there",
    "wsl --update, and NVIDIA's driver in Windows; then: wsl --shutdown",
)
DENIED = fail(
    "devices.denied",
    "this user may not open a device node",
    "sudo usermod -aG {group} $USER, and log in again",
)


def devices(context: Context) -> Iterator[Finding]:
    """Check that the device nodes exist and may be opened."""
    machine = context.machine
    if is_absent(context):
        yield skipped("devices", "there is no driver")
        return
    missing = missing_nodes(machine.at("/dev"))
    if missing and context.wsl == 2:
        yield NO_DXG.found("missing: /dev/dxg")
        return
    if missing:
        names = (f"/dev/{Path(node).name}" for node in missing)
        yield NO_NODES.found(f"missing: {', '.join(names)}")
        return
    cards = [f"/dev/{n}" for n in machine.names("/dev") if re.fullmatch(r"nvidia\d+", n)]
    linux = ["/dev/nvidiactl", "/dev/nvidia-uvm", *cards]
    nodes = ["/dev/dxg"] if context.wsl == 2 else linux
    closed = [node for node in nodes if not machine.may(node, os.R_OK | os.W_OK)]
    if closed:
        yield DENIED.found(f"may not be opened: {', '.join(closed)}", group=_group(context, closed))
    else:
        yield passed("devices", ", ".join(nodes))


def _group(context: Context, nodes: list[str]) -> str:
    """Return the group that owns the first node that can be asked."""
    for node in nodes:
        try:
            return context.machine.at(node).group()
        except (OSError, KeyError):
            continue
    return "video"


CHECKS = (
    Check(
        "libraries",
        "Card",
        "libcuda.so.1 and libnvidia-ml.so.1 where the engine looks for them",
        libraries,
        (NO_CUDA, NO_NVML),
    ),
    Check(
        "devices",
        "Card",
        "/dev/nvidiactl, nvidia-uvm and nvidiaN; on WSL2 /dev/dxg",
        devices,
        (NO_NODES, NO_DXG, DENIED),
    ),
)
