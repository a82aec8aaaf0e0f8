"""The list of our Triton kernels with the signatures they are launched with, and what they need.

`python -m qwen3090_ops.kernels` compiles each for the RTX 3090 (sm_86) on any machine, with no GPU,
and prints registers, stack and shared memory. A kernel that is not here has not been checked
against the 99 KiB that a block of an RTX 3090 can have.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qwen3090_ops

SHARED_LIMIT = 99 * 1024
"""Bytes of shared memory that one block may use on sm_86."""


@dataclass(frozen=True)
class Example:
    """One kernel as it is launched.

    Attributes:
        name: what the table calls it; unique.
        kernel: ``module:function`` of the ``@triton.jit`` function.
        signature: type of each run-time argument (``"*fp32"``, ``"i32"``, ``"fp32"``), by name;
            arguments given as None at launch stand in ``constants``.
        constants: value of each ``tl.constexpr`` argument, and None arguments.
        aligned: run-time arguments that are multiples of 16 (pointers, strides), which Triton
            specialises on; default: all pointers.
        warps: ``num_warps``.
        stages: ``num_stages``.
    """

    name: str
    kernel: str
    signature: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    aligned: tuple[str, ...] | None = None
    warps: int = 4
    stages: int = 3


@dataclass(frozen=True)
class Need:
    """What a compiled kernel needs: bytes of shared memory, registers and stack bytes a thread."""

    name: str
    shared: int
    registers: int
    stack: int


def examples() -> list[Example]:
    """Return every example: each module ``qwen3090_ops.*.examples`` lists its package's."""
    here = Path(qwen3090_ops.__file__).parent
    found: list[Example] = []
    for path in sorted(here.glob("*/examples.py")):
        module = importlib.import_module(f"qwen3090_ops.{path.parent.name}.examples")
        found += module.EXAMPLES
    names = [example.name for example in found]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"kernel examples share a name: {sorted(doubled)}")
    return found


def compile_for(example: Example, capability: int = 86) -> Need:
    """Compile one example for a compute capability; needs no GPU.

    Raises:
        triton.CompilationError, RuntimeError: it does not compile, or ptxas refuses it.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module, name = example.kernel.split(":")
    kernel = getattr(importlib.import_module(module), name)
    while not isinstance(kernel, triton.JITFunction):
        kernel = kernel.fn  # what triton.heuristics wraps
    aligned = example.aligned
    if aligned is None:
        aligned = tuple(key for key, kind in example.signature.items() if kind.startswith("*"))
    places = [kernel.arg_names.index(key) for key in aligned]
    attributes = {
        (place,): [["tt.divisibility", 16]]
        for place in places
        if not kernel.params[place].do_not_specialize_on_alignment
    }
    signature = {
        key: "constexpr" if key in example.constants else example.signature[key]
        for key in kernel.arg_names
    }
    source = ASTSource(kernel, signature, dict(example.constants), attributes)
    options = {"num_warps": example.warps, "num_stages": example.stages}
    compiled = triton.compile(source, GPUTarget("cuda", capability, 32), options)
    registers, stack = _resources(compiled.asm["cubin"])
    return Need(example.name, compiled.metadata.shared, registers, stack)


def _resources(cubin: bytes) -> tuple[int, int]:
    """Return registers and bytes of local memory a thread, as Triton's cuobjdump reports them."""
    import triton

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        report = subprocess.run(
            [tool, "-res-usage", file.name], capture_output=True, text=True, check=True
        ).stdout
    words = dict(word.split(":", 1) for word in report.split() if word.count(":") == 1)
    return int(words["REG"]), int(words["STACK"])


def main() -> int:
    """Compile every example, print what each needs as JSON; 1 when one is over the limit."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        sys.exit("TRITON_INTERPRET=1 replaces kernels by Python: unset it to compile them")
    needs = [compile_for(example) for example in examples()]
    print(json.dumps([vars(need) for need in needs], indent=2))
    return int(any(need.shared > SHARED_LIMIT for need in needs))


if __name__ == "__main__":
    sys.exit(main())
