"""The driver: does it answer, is it new enough, are its libraries and devices within reach?"""

from collections.abc import Iterator

from qwen3090 import smi
from qwen3090.data import load_json
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed
from qwen3090.serve.device import is_older
from qwen3090.verify.report import Finding

LEAST = str(load_json("pins.json")["cuda"]["driver"])
INSTALL = {
    "nixos": 'services.xserver.videoDrivers = [ "nvidia" ]; hardware.graphics.enable = true; then '
    "nixos-rebuild switch",
    "wsl": "update NVIDIA's driver in Windows, and install none in Linux; then: wsl --shutdown",
    "other": f"sudo apt-get install nvidia-driver-{LEAST} (or your distribution's package of "
    f"{LEAST} or newer), then sudo reboot",
}

MISSING = fail("driver.missing", "there is no nvidia-smi and no driver", "{install}")
NO_SMI = fail(
    "driver.smi",
    "the driver is loaded and nvidia-smi is not on PATH, where `serve` looks for it",
    'PATH="$PATH:{folder}" qwen3090 doctor',
)
HUNG = fail(
    "driver.hung",
    "nvidia-smi does not end in time: the driver or the card hangs",
    "journalctl -k -b | grep -i nvrm, then sudo reboot",
)
MISMATCH = fail(
    "driver.mismatch",
    "the driver's libraries were updated, and the old module still runs",
    "sudo reboot",
)
BROKEN = fail(
    "driver.failed",
    "nvidia-smi reports an error, mostly because the module is not loaded",
    "sudo modprobe nvidia; journalctl -k -b | grep -i nvrm",
)
NO_CARD = fail(
    "driver.no-card",
    "the driver runs and lists no card",
    "lspci -d 10de: (does the machine see the card?), journalctl -k -b | grep -i nvrm",
)
HIDDEN = fail(
    "driver.hidden",
    "CUDA_VISIBLE_DEVICES is set and names no card",
    "unset CUDA_VISIBLE_DEVICES, or give the index that nvidia-smi -L prints",
)
OLD = fail("driver.old", f"the driver is older than {LEAST}, which CUDA 13 needs", "{install}")


def driver(context: Context) -> Iterator[Finding]:
    """Check that the driver answers, lists a card, and is new enough."""
    cards = context.cards
    if isinstance(cards, smi.SmiError):
        yield _silent(context, cards)
        return
    if not cards:
        yield NO_CARD.found("nvidia-smi lists no card")
        return
    version = cards[0]["driver_version"] or ""
    if is_older(version, LEAST):
        yield OLD.found(f"{version or 'no version'}; needed: {LEAST} or newer", **install(context))
    else:
        yield passed("driver", f"{version} (needed: {LEAST} or newer)")


def _silent(context: Context, error: smi.SmiError) -> Finding:
    text = str(error)
    visible = context.machine.environ.get("CUDA_VISIBLE_DEVICES")
    if error.kind == "missing":
        folder = next((f for f in _smi_folders() if context.machine.exists(f"{f}/nvidia-smi")), "")
        if folder or context.machine.exists("/proc/driver/nvidia/version"):
            return NO_SMI.found("nvidia-smi is not on PATH", folder=folder or "FOLDER")
        return MISSING.found("no nvidia-smi, no driver", **install(context))
    if error.kind == "hung":
        return HUNG.found(text)
    if "version mismatch" in text:
        return MISMATCH.found(text)
    if "No devices were found" in text:
        if visible is not None:
            return HIDDEN.found(f"CUDA_VISIBLE_DEVICES = '{visible}' names no card")
        return NO_CARD.found(text)
    return BROKEN.found(text)


def _smi_folders() -> list[str]:
    return ["/run/current-system/sw/bin", "/usr/lib/wsl/lib", "/usr/bin", "/usr/local/nvidia/bin"]


def is_absent(context: Context) -> bool:
    """Return whether there is no driver at all, so that looking for its parts tells nothing new."""
    cards = context.cards
    missing = isinstance(cards, smi.SmiError) and cards.kind == "missing"
    traces = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")
    return missing and not any(map(context.machine.exists, traces))


def install(context: Context) -> dict[str, str]:
    """Return what a next command with ``{install}`` is filled with: how this system installs it."""
    kind = "nixos" if context.nixos else "wsl" if context.wsl else "other"
    return {"install": INSTALL[kind]}


CHECKS = (
    Check(
        "driver",
        "Card",
        "nvidia-smi: does it answer, the driver's version",
        driver,
        (MISSING, NO_SMI, HUNG, MISMATCH, BROKEN, NO_CARD, HIDDEN, OLD),
    ),
)
