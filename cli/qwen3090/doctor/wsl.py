"""WSL2: Windows owns card and memory, so other settings and other cures apply."""

import re
from collections.abc import Iterator
from pathlib import Path

from qwen3090.config.rules import is_loopback
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, skipped, warn
from qwen3090.verify.report import Finding

# vLLM 0.28.0 (platforms/cuda.py) pins host memory from this kernel on; the V2 runner needs it.
LEAST_KERNEL = (4, 19, 121)
_DRIVER = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"

VERSION_1 = fail(
    "wsl.version",
    "this is WSL1, which has no access to the card",
    "in Windows: wsl --set-version DISTRIBUTION 2",
)
KERNEL = fail(
    "wsl.kernel",
    f"the WSL2 kernel is older than {'.'.join(map(str, LEAST_KERNEL))}: vLLM then pins no host "
    "memory, and its V2 runner does not start without",
    "in Windows: wsl --update, then wsl --shutdown",
)
LINUX_DRIVER = fail(
    "wsl.driver",
    "a Linux driver is installed inside WSL2 and hides the one that Windows gives",
    "sudo apt-get purge '^libnvidia-compute-.*' '^nvidia-driver-.*', then wsl --shutdown",
)
SEGMENTS = warn(
    "wsl.segments",
    "expandable_segments is on; it is meant to be off where Windows manages the card's memory",
    "qwen3090 up {profile} --set expandable_segments=false",
)
NETWORK = warn(
    "wsl.network",
    "the server is to listen for other machines, and WSL2's network is its own",
    "in %UserProfile%\\.wslconfig: [wsl2] networkingMode=mirrored, then wsl --shutdown; and allow "
    "the port in Windows' firewall",
)


def wsl(context: Context) -> Iterator[Finding]:
    """Check what WSL2 needs; elsewhere there is nothing to check."""
    if context.wsl == 0:
        yield skipped("wsl", "this is not WSL")
        return
    if context.wsl == 1:
        yield VERSION_1.found("the kernel is Microsoft's, and /dev/dxg is not there")
        return
    found = list(_problems(context))
    yield from found
    if not found:
        yield passed("wsl", "WSL2; slower than Linux, since Windows owns the card")


def _problems(context: Context) -> Iterator[Finding]:
    machine, config = context.machine, context.config
    release = machine.text("/proc/sys/kernel/osrelease") or ""
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", release)
    if version and tuple(map(int, version.groups())) < LEAST_KERNEL:
        yield KERNEL.found(f"kernel {release.strip()}")
    library = machine.at(_DRIVER)
    if library.exists() and "/usr/lib/wsl/" not in str(library.resolve()):
        yield LINUX_DRIVER.found(f"{_DRIVER} is not Windows' own (/usr/lib/wsl/lib)")
    if config is None or config.device == "cpu":
        return
    if config.expandable_segments:
        yield SEGMENTS.found("expandable_segments = true", profile=context.profile)
    if not is_loopback(config.host) and networking(context) != "mirrored":
        yield NETWORK.found(
            f"host = {config.host}, networkingMode = {networking(context) or 'nat (the default)'}"
        )


def wslconfig(context: Context) -> dict[str, str]:
    """Return the keys of ``[wsl2]`` in .wslconfig, lower case; empty when there is none."""
    users = Path("/mnt/c/Users")
    for name in context.machine.names(users):
        text = context.machine.text(users / name / ".wslconfig")
        if text is not None:
            return _section(text)
    return {}


def _section(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    section = ""
    for line in map(str.strip, text.lstrip("\ufeff").splitlines()):
        if line.startswith("["):
            section = line.strip("[]").lower()
        elif section == "wsl2" and "=" in line and line[0] not in "#;":
            key, _, value = line.partition("=")
            found[key.strip().lower()] = value.strip()
    return found


def networking(context: Context) -> str:
    """Return WSL2's networking mode in lower case, empty when it is not set."""
    return wslconfig(context).get("networkingmode", "").lower()


CHECKS = (
    Check(
        "wsl",
        "WSL2",
        "WSL's version and kernel, a Linux driver inside it, settings that suit Windows, network",
        wsl,
        (VERSION_1, KERNEL, LINUX_DRIVER, SEGMENTS, NETWORK),
    ),
)
