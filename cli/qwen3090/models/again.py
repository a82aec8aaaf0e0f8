"""Commands to paste: the same options again, quoted, so that what is run next means the same."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from qwen3090.models.manifest import Manifest


def command(*words: str) -> str:
    """Return a ``qwen3090`` command line that a shell splits into these words."""
    return shlex.join(["qwen3090", *words])


def paths(name: str, values: Iterable[Path | None]) -> list[str]:
    """Return an option once for each path that was given."""
    return [word for value in values if value is not None for word in (name, str(value))]


def places(directory: Path | None, manifests: Iterable[Path]) -> list[str]:
    """Return the options that name the same models directory and manifests."""
    return [*paths("--dir", [directory]), *paths("--manifest", manifests)]


def variant_of(manifest: Manifest, repositories: set[str]) -> str:
    """Return the smallest variant that holds all of these repositories, else ``all``."""
    variants = manifest.variants.items()
    holding = [(len(v.repositories), n) for n, v in variants if repositories <= {*v.repositories}]
    return min(holding)[1] if holding else "all"
