"""Imports vLLM, its every extension and our plugin; vLLM itself only logs one that is dead."""

import importlib
import sys
from pathlib import Path

import vllm
from qwen3090.data import data_file
from qwen3090.patches import inspect, load_series

# Built for cards that this project does not serve; they may ask for what such machines have.
FOREIGN = ("vllm.third_party.", "vllm._flashmla", "vllm.vllm_flash_attn._vllm_fa3")


def extensions(package: Path) -> list[str]:
    """Return the module names of a package's compiled extensions."""
    found = set()
    for path in package.rglob("*.so"):
        module = path.with_name(path.name.split(".")[0]).relative_to(package.parent)
        found.add(".".join(module.parts))
    return sorted(found)


def main() -> int:
    """Return 0 when everything imports and every patch is in what was imported."""
    package = Path(vllm.__file__).parent
    failures = []
    for name in [*extensions(package), "qwen3090_ops.plugin", "qwen3090_prepare"]:
        if name.startswith(FOREIGN):
            continue
        try:
            importlib.import_module(name)
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
        else:
            print(f"imported {name}")
    report = inspect(package.parent, load_series(data_file("patches")))
    failures += [f"{s.name} is {s.state}" for s in report.states if s.state != "applied"]
    failures += report.outside
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
