"""Refuses a machine or interpreter that the locked wheels cannot run on; standard library only."""

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qwen3090.lock.wheelfile import Wheel


class SetupError(Exception):
    """Set-up cannot go on; ``next_step`` is the command that mends it."""

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(problem)
        self.next_step = next_step


def _glibc() -> tuple[int, int]:
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    major, _, minor = version.partition(".")
    return (int(major), int(minor)) if name == "glibc" and minor.isdigit() else (0, 0)


@dataclass(frozen=True)
class Machine:
    """The interpreter and the machine under it; tests make their own."""

    python: str = f"{sys.version_info.major}.{sys.version_info.minor}"
    implementation: str = sys.implementation.name
    system: str = field(default_factory=platform.system)
    arch: str = field(default_factory=platform.machine)
    glibc: tuple[int, int] = field(default_factory=_glibc)
    prefix: Path = field(default_factory=lambda: Path(sys.prefix))
    in_venv: bool = sys.prefix != sys.base_prefix

    def check(self, supported: Sequence[str]) -> None:
        """Check interpreter, architecture and virtual environment.

        Raises:
            SetupError: one of them is not supported; the value found is in the message.
        """
        if self.implementation != "cpython" or self.python not in supported:
            raise SetupError(
                f"this is {self.implementation} {self.python}; the lock has wheels for CPython "
                f"{', '.join(supported)}",
                "install one of these, then: make setup PYTHON=python3.12",
            )
        if (self.system, self.arch) != ("Linux", "x86_64"):
            raise SetupError(
                f"this machine is {self.system} {self.arch}; the lock is for Linux x86_64",
                "use an x86-64 Linux machine (WSL2 counts as one)",
            )
        if not self.in_venv:
            raise SetupError(
                f"{self.prefix} is not a virtual environment; nothing is installed into a "
                "system's own Python",
                "python3 -m venv .venv && .venv/bin/pip install ./cli ./prepare ./pkgs/ops && "
                ".venv/bin/qwen3090 setup",
            )

    def check_glibc(self, wheels: Iterable[Wheel]) -> None:
        """Check the C library against the newest one that a wheel asks for.

        Raises:
            SetupError: it is too old, or not glibc.
        """
        strictest = max(wheels, key=lambda wheel: wheel.glibc)
        if self.glibc < strictest.glibc:
            have = "not glibc" if self.glibc == (0, 0) else f"glibc {_dotted(self.glibc)}"
            raise SetupError(
                f"this machine has {have}; {strictest.file} needs glibc "
                f"{_dotted(strictest.glibc)} or newer",
                "use Debian 12, Ubuntu 22.04 or anything newer",
            )


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
