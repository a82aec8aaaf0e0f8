"""Reads nix/pins.json and the packages' own requirements: everything the lock is made from."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090.data import load_json, repository_root
from qwen3090.errors import UserError
from qwen3090.lock.wheelfile import digest, normalise

# Group name -> the packages whose own requirements it holds. The bootstrap installs "cli" alone.
_PACKAGES = {"cli": ("cli",), "prepare": ("prepare", "pkgs/ops")}


@dataclass(frozen=True)
class Inputs:
    """What a lock is made from.

    Attributes:
        pythons: the CPython versions to lock for, such as ``3.12``.
        roots: group name to the pip requirements from which its closure is walked. All groups
            are resolved together, so that they agree on versions.
        cpu_engine: requirements that take vLLM's place on a CPU, added without dependencies.
        excluded: normalised project name to the reason it is left out.
        toolkit: the version of the cuda-toolkit package whose pins the toolchain must match.
        exceptions: normalised names that need not match them, each with its reason.
    """

    pythons: tuple[str, ...]
    roots: dict[str, tuple[str, ...]]
    cpu_engine: tuple[str, ...]
    excluded: dict[str, str]
    toolkit: str
    exceptions: dict[str, str]

    @property
    def requirements(self) -> list[str]:
        """Every requirement of the one resolution."""
        return sorted({row for group in self.roots.values() for row in group})

    @property
    def digest(self) -> str:
        """sha256 over everything that changes the lock; wheels.json keeps it to tell staleness."""
        parts = (self.pythons, self.roots, self.cpu_engine, sorted(self.excluded), self.toolkit)
        return digest(*parts)


def _exact(table: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}=={version}" for name, version in sorted(table.items()))


def make_inputs(pins: dict[str, Any], packages: dict[str, list[str]]) -> Inputs:
    """Build the inputs from a parsed pins.json and the packages' requirements by group.

    Raises:
        UserError: pins.json lacks a key.
    """
    try:
        cuda = pins["cuda"]
        return Inputs(
            pythons=tuple(pins["python"]["supported"]),
            roots={
                "engine": _exact(pins["engine"] | cuda["wheels"]),
                "cubins": _exact(pins["cubins"]),
                **{group: tuple(sorted(set(rows))) for group, rows in packages.items()},
                "build": tuple(pins["build"]),
                "dev": tuple(pins["dev"]),
            },
            cpu_engine=_exact(pins["cpu_engine"]),
            excluded={normalise(name): why for name, why in pins["excluded"].items()},
            toolkit=cuda["toolkit"],
            exceptions={normalise(name): why for name, why in cuda["exceptions"].items()},
        )
    except KeyError as error:
        raise UserError(f"nix/pins.json lacks the key {error}", "git diff nix/pins.json") from None


def load_inputs(root: Path | None = None) -> Inputs:
    """Read pins.json and the three pyproject.toml files of the checkout.

    Raises:
        UserError: not run from a checkout, or pins.json lacks a key.
    """
    root = root or repository_root()
    if root is None:
        raise UserError(
            "the lock is made in a checkout of the repository; this is an installed package",
            "clone the repository, run 'make setup' there, then '.venv/bin/qwen3090 lock'",
        )
    packages: dict[str, list[str]] = {}
    for group, folders in _PACKAGES.items():
        for folder in folders:
            text = (root / folder / "pyproject.toml").read_text(encoding="utf-8")
            rows = tomllib.loads(text)["project"].get("dependencies", [])
            packages.setdefault(group, []).extend(rows)
    return make_inputs(load_json("pins.json"), packages)
