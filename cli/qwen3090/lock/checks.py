"""Checks of the lock against its inputs: stale, incomplete, or a toolchain of mixed releases."""

from collections.abc import Iterable
from typing import Any

from packaging.specifiers import SpecifierSet

from qwen3090.lock.pins import Inputs
from qwen3090.lock.wheelfile import LockError, Wheel, content, normalise, parse, select

_TOOLKIT_PREFIXES = ("nvidia-", "cuda-")
GROUPS = ("build", "cli", "cubins", "dev", "engine", "engine-cpu", "engine-cuda", "prepare")


def stale(document: dict[str, Any], inputs: Inputs) -> list[str]:
    """Return a finding when the inputs changed after the lock was made, or the lock itself did."""
    findings = []
    if document.get("pins") != inputs.digest:
        findings.append(
            "wheels.json is stale, pins.json or a package's requirements changed: "
            "run `qwen3090 lock`"
        )
    if document.get("content") != content(document):
        findings.append(
            "wheels.json was edited after it was made: git checkout nix/wheels.json, "
            "or run `qwen3090 lock`"
        )
    return findings


def structure(document: dict[str, Any], inputs: Inputs) -> list[str]:
    """Return findings on entries: malformed, duplicate, missing for a Python, or naming a host."""
    try:
        wheels = parse(document)
        for python in inputs.pythons:
            select(wheels, python, GROUPS)
    except LockError as error:
        return [str(error)]
    findings = []
    for wheel in wheels:
        if unknown := sorted(set(wheel.groups) - set(GROUPS)):
            findings.append(f"{wheel.file}: unknown group {', '.join(unknown)}")
        if unknown := sorted(set(wheel.pythons) - set(inputs.pythons)):
            findings.append(f"{wheel.file}: Python {', '.join(unknown)} is not in pins.json")
        if wheel.project in inputs.excluded:
            findings.append(f"{wheel.file}: pins.json leaves {wheel.project} out")
    if "://" in str(document):
        findings.append("wheels.json names a host")
    return findings


def toolkit(document: dict[str, Any], wheels: Iterable[Wheel], inputs: Inputs) -> list[str]:
    """Return the CUDA wheels that differ from what the cuda-toolkit package pins.

    Every locked ``nvidia-*`` or ``cuda-*`` wheel is either pinned by cuda-toolkit, at this
    version, or named in pins.json (cuda.exceptions) with a reason.
    """
    recorded = document.get("toolkit", {})
    if recorded.get("version") != inputs.toolkit:
        return [
            f"wheels.json has the pins of cuda-toolkit {recorded.get('version')}, pins.json asks "
            f"for {inputs.toolkit}: run `qwen3090 lock`"
        ]
    pins = {normalise(name): spec for name, spec in recorded.get("pins", {}).items()}
    findings = []
    for wheel in wheels:
        name = wheel.project
        if not name.startswith(_TOOLKIT_PREFIXES) or name in inputs.exceptions:
            continue
        if name == "cuda-toolkit":
            if wheel.version != inputs.toolkit:
                findings.append(f"{wheel.file}: cuda-toolkit must be {inputs.toolkit}")
        elif name not in pins:
            findings.append(
                f"{wheel.file}: not a part of cuda-toolkit {inputs.toolkit}; name it in "
                "pins.json (cuda.exceptions) with a reason"
            )
        elif not SpecifierSet(pins[name]).contains(wheel.version, prereleases=True):
            findings.append(
                f"{wheel.file}: {name} is {wheel.version}, cuda-toolkit {inputs.toolkit} "
                f"pins {pins[name]}"
            )
    return findings


def check(document: dict[str, Any], inputs: Inputs) -> list[str]:
    """Run every check; an empty list means that the lock is good."""
    findings = stale(document, inputs) + structure(document, inputs)
    try:
        return findings + toolkit(document, parse(document), inputs)
    except LockError as error:
        return findings or [str(error)]
