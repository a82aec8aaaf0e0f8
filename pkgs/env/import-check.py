"""Imports vLLM, its every extension and our plugin; vLLM itself only logs one that is dead."""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import vllm
from qwen3090.data import data_file
from qwen3090.patches import inspect, load_series

# Built for cards that this project does not serve; they may ask for what such machines have.
FOREIGN = ("vllm.third_party.", "vllm._flashmla", "vllm.vllm_flash_attn._vllm_fa3")
# The CPU engine's kernels, one file for each kind of CPU, all registering the same operations.
ONE_OF = "vllm._C"


def extensions(package: Path) -> list[str]:
    """Return the module names of a package's compiled extensions."""
    found = set()
    for path in package.rglob("*.so"):
        module = path.with_name(path.name.split(".")[0]).relative_to(package.parent)
        found.add(".".join(module.parts))
    return sorted(found)


def import_one_of() -> None:
    """Let vLLM load the kernels for this CPU.

    Raises:
        ImportError: no operation was registered; vLLM logs why.
    """
    from vllm.platforms import current_platform

    current_platform.import_kernels()
    if not any(name.startswith("_C::") for name in torch._C._dispatch_get_all_op_names()):
        raise ImportError("no operation of _C is registered")


def main() -> int:
    """Return 0 when everything imports and every patch is in what was imported."""
    package = Path(vllm.__file__).parent
    names = [name for name in extensions(package) if not name.startswith(FOREIGN)]
    steps: dict[str, Callable[[], object]] = {}
    if ONE_OF in names:
        names = [name for name in names if not name.startswith(ONE_OF)]
        steps[ONE_OF] = import_one_of
    for name in (*names, "qwen3090_ops.plugin", "qwen3090_prepare"):
        steps[name] = partial(importlib.import_module, name)
    failures = []
    for name, step in steps.items():
        try:
            step()
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
