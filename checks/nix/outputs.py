"""Fails unless `nix flake show --json` lists every output that the project promises.

usage: outputs.py SHOWN.json profiles.toml
"""

import json
import sys
import tomllib
from pathlib import Path

SYSTEM = "x86_64-linux"
PACKAGES = [
    *("container", "cuda-home", "default", "flashinfer-kernels", "model", "model-prepared"),
    *("ops", "python-env", "qwen3090", "vllm"),
]
SINGLE = {
    "nixosModules": ["default", "qwen3090"],
    "overlays": ["default"],
    "templates": ["default"],
}


def expected(profiles: Path) -> dict[str, list[str]]:
    """Return output kind to the names it must have, per-system kinds below the system."""
    table = tomllib.loads(profiles.read_text(encoding="utf-8"))["profile"]
    serve = [f"serve-{n}" for n, p in table.items() if p.get("device", "cuda") == "cuda"]
    return {
        "packages": PACKAGES,
        "apps": [*serve, "container", "default", "demo", "plan", "prepare", "verify"],
        "devShells": ["default"],
        **SINGLE,
    }


def main(shown_file: str, profiles: str) -> int:
    """Return 0 when nothing is missing."""
    shown = json.loads(Path(shown_file).read_text(encoding="utf-8"))
    missing = []
    for kind, names in expected(Path(profiles)).items():
        have = shown.get(kind, {})
        have = have if kind in SINGLE else have.get(SYSTEM, {})
        missing += [f"{kind}.{name}" for name in names if name not in have]
    if not shown.get("formatter", {}).get(SYSTEM):
        missing.append("formatter")
    checks = shown.get("checks", {}).get(SYSTEM, {})
    kinds = ("packages", "apps", "checks")
    print("   " + ", ".join(f"{len(shown.get(kind, {}).get(SYSTEM, {}))} {kind}" for kind in kinds))
    for name in missing:
        print(f"error: the flake has no {name}", file=sys.stderr)
    return int(bool(missing) or not checks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
