"""The steps of ``qwen3090 lock``: resolve each Python, build, check, write in one rename."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from qwen3090.data import repository_root
from qwen3090.errors import UserError
from qwen3090.lock.build import build
from qwen3090.lock.checks import check as check_document
from qwen3090.lock.pins import Inputs, load_inputs
from qwen3090.lock.report import read_report
from qwen3090.lock.resolve import find_pythons, run_pip
from qwen3090.lock.wheelfile import dump

__all__ = [
    "check_document",
    "check_file",
    "default_target",
    "load_inputs",
    "make",
    "split_report",
    "write",
]

_CPU = "cpu"


def split_report(text: str) -> tuple[str, Path]:
    """Split ``3.12=FILE``.

    Raises:
        UserError: there is no ``=`` in it.
    """
    version, equals, file = text.partition("=")
    if not equals or not file:
        raise UserError(f"--report {text}: not VERSION=FILE", "for example --report 3.12=r.json")
    return version, Path(file)


def make(
    inputs: Inputs, pythons: Sequence[Path], given: dict[str, Path], say: Callable[[str], None]
) -> str:
    """Return the text of a new wheels.json.

    Args:
        inputs: pins and requirements.
        pythons: interpreters to prefer.
        given: ready reports by Python version, and under ``cpu`` that of the CPU engine.
        say: takes progress lines.

    Raises:
        UserError: an interpreter is missing, pip fails, or a report does not fit.
    """
    if unknown := sorted(set(given) - {*inputs.pythons, _CPU}):
        raise UserError(
            f"--report for '{unknown[0]}'", f"choose from {', '.join((*inputs.pythons, _CPU))}"
        )
    for version, file in given.items():
        if version != _CPU and (found := read_report(file).python) != version:
            raise UserError(f"{file} is a report of Python {found}, not {version}", "swap them")
    missing = [version for version in inputs.pythons if version not in given]
    interpreters = find_pythons(missing or [inputs.pythons[-1]] * (_CPU not in given), pythons)
    reports = [
        read_report(given[version])
        if version in given
        else run_pip(interpreters[version], inputs.requirements, dependencies=True, say=say)
        for version in inputs.pythons
    ]
    if _CPU in given:
        cpu = read_report(given[_CPU])
    else:
        python = next(iter(interpreters.values()))
        cpu = run_pip(python, inputs.cpu_engine, dependencies=False, say=say)
    head, wheels = build(inputs, reports, list(cpu.projects.values()))
    return dump(head, wheels)


def check_file(path: Path, inputs: Inputs) -> list[str]:
    """Check a wheels.json on disk; see ``checks.check``."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{path}: {error}: run `qwen3090 lock`"]
    return check_document(document, inputs)


def default_target() -> Path:
    """Return nix/wheels.json of the checkout.

    Raises:
        UserError: not run from a checkout.
    """
    root = repository_root()
    if root is None:
        raise UserError("not a checkout of the repository", "give --output FILE")
    return root / "nix" / "wheels.json"


def write(target: Path, text: str) -> None:
    """Write the lock so that an interrupted run leaves the old one."""
    part = target.with_name(target.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(target)
