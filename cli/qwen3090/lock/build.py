"""Makes the lock document out of resolutions: merges the Pythons, assigns groups."""

from collections.abc import Sequence
from typing import Any

from packaging.requirements import Requirement

from qwen3090.errors import UserError
from qwen3090.lock.closure import left_out, reachable
from qwen3090.lock.pins import Inputs
from qwen3090.lock.report import Report, Resolved
from qwen3090.lock.wheelfile import Wheel, normalise

# vLLM itself is what differs between the two engines; all else of its closure serves both.
_CUDA_ONLY = "vllm"


def _groups(report: Report, inputs: Inputs) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for group, roots in inputs.roots.items():
        for name in reachable(report, roots, inputs.excluded):
            label = "engine-cuda" if (group, name) == ("engine", _CUDA_ONLY) else group
            groups.setdefault(name, set()).add(label)
    return groups


def _toolkit_pins(report: Report, version: str) -> dict[str, str]:
    """Return the version specifier of each part that the cuda-toolkit package names."""
    toolkit = report.projects.get("cuda-toolkit")
    found = toolkit.fields["version"] if toolkit else "none"
    if toolkit is None or found != version:
        raise UserError(
            f"the resolution has cuda-toolkit {found}, pins.json says {version}",
            "set cuda.toolkit in nix/pins.json to the version that torch asks for",
        )
    pins: dict[str, str] = {}
    for text in toolkit.requires:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or marker.evaluate({**report.environment, "extra": "all"}):
            pins[normalise(requirement.name)] = str(requirement.specifier)
    return dict(sorted(pins.items()))


def _check_requested(report: Report, inputs: Inputs) -> None:
    for text in inputs.requirements:
        name = normalise(Requirement(text).name)
        if name not in report.projects:
            raise UserError(
                f"the resolution for Python {report.python} has no {name}",
                "make the report from all requirements: qwen3090 lock --show-requirements",
            )


def build(
    inputs: Inputs, reports: Sequence[Report], cpu: Sequence[Resolved]
) -> tuple[dict[str, Any], list[Wheel]]:
    """Return the head and the wheels of the lock.

    Args:
        inputs: pins and requirements.
        reports: one resolution for each Python of ``inputs.pythons``.
        cpu: the CPU engine's wheels, which serve every Python.

    Raises:
        UserError: a Python has no resolution, or a resolution does not fit the pins.
    """
    have = sorted(report.python for report in reports)
    if have != sorted(inputs.pythons):
        raise UserError(
            f"resolutions for Python {', '.join(have) or 'none'}; pins.json asks for "
            f"{', '.join(inputs.pythons)}",
            "give the missing interpreters: qwen3090 lock --python PATH ...",
        )
    merged: dict[tuple[str, str], tuple[Resolved, set[str], set[str]]] = {}
    gone: dict[str, str] = {}
    for report in reports:
        _check_requested(report, inputs)
        gone |= left_out(report, inputs.roots, inputs.excluded)
        for name, groups in _groups(report, inputs).items():
            found = report.projects[name]
            key = (found.file, found.sha256)
            _, pythons, labels = merged.setdefault(key, (found, set(), set()))
            pythons.add(report.python)
            labels |= groups
    for found in cpu:
        merged[(found.file, found.sha256)] = (found, set(inputs.pythons), {"engine-cpu"})
    wheels = [
        Wheel(
            file=found.file,
            sha256=found.sha256,
            pythons=tuple(sorted(pythons, key=inputs.pythons.index)),
            groups=tuple(sorted(labels)),
            **found.fields,
        )
        for found, pythons, labels in merged.values()
    ]
    head = {
        "about": "Made by `qwen3090 lock` from nix/pins.json. Do not edit.",
        "pins": inputs.digest,
        "toolkit": {"version": inputs.toolkit, "pins": _toolkit_pins(reports[0], inputs.toolkit)},
        "left_out": dict(sorted(gone.items())),
    }
    return head, wheels
