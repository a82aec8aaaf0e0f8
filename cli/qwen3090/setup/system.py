"""What the engine needs from the operating system: installed when root on Debian, else named."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.setup.engine import Engine


@dataclass(frozen=True)
class Need:
    """Something outside Python: how to tell that it is there, and the Debian package it is in."""

    what: str
    package: str
    present: Callable[[], bool]


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def needs(engine: Engine) -> list[Need]:
    """Return what an engine needs: libnuma for the CPU one; a compiler and headers for Triton."""
    if engine == "cpu":
        return [Need("libnuma.so.1", "libnuma1", lambda: _loads("libnuma.so.1"))]
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return [
        Need("gcc", "gcc", lambda: shutil.which("gcc") is not None),
        Need("g++", "g++", lambda: shutil.which("g++") is not None),
        Need(f"Python's headers ({header})", "python3-dev", header.is_file),
    ]


def provide(engine: Engine, say: Callable[[str], None]) -> None:
    """Make sure that everything is there; installs Debian packages when run by root.

    Raises:
        UserError: something is missing; the message has the command that installs it.
    """
    missing = [need for need in needs(engine) if not need.present()]
    if not missing:
        return
    packages = [need.package for need in missing]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {' '.join(packages)} with apt-get")
        _apt(packages)
        missing = [need for need in missing if not need.present()]
    if missing:
        raise UserError(
            f"missing: {', '.join(need.what for need in missing)}",
            f"sudo apt-get install {' '.join(need.package for need in missing)}",
        )


def _apt(packages: list[str]) -> None:
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages]
    for command in (install, ["apt-get", "-qq", "update"], install):
        done = subprocess.run(command, env=env, capture_output=True, check=False)
        if command is install and done.returncode == 0:
            return
