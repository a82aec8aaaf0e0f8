"""Checks that every Triton kernel of ours fits an RTX 3090, by compiling it for sm_86 (no GPU)."""

import importlib
import json
import os
import subprocess
import sys

import pytest
from qwen3090_ops.kernels import SHARED_LIMIT, examples

pytest.importorskip("triton")
NAMES = [example.name for example in examples()]


@pytest.fixture(scope="module")
def needs() -> dict[str, dict[str, int]]:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "qwen3090_ops.kernels"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr[-3000:]
    return {need["name"]: need for need in json.loads(done.stdout)}


@pytest.mark.parametrize("name", NAMES)
def test_fits_the_shared_memory_of_sm_86(needs: dict[str, dict[str, int]], name: str) -> None:
    need = needs[name]
    print(need)
    assert need["shared"] <= SHARED_LIMIT
    assert 0 < need["registers"] <= 255


@pytest.mark.parametrize(
    "kernel", sorted({e.kernel for e in examples() if ".attention." in e.kernel}), ids=str
)
def test_parts_of_a_batch_are_not_specialised_on(kernel: str) -> None:
    """A run of rows begins anywhere: its alignment would compile a variant while serving."""
    from qwen3090_ops.attention.words import PARTS  # needs Triton

    module, name = kernel.split(":")
    found = getattr(importlib.import_module(module), name)
    bad = [
        parameter.name
        for parameter in found.params
        if parameter.name in PARTS and not parameter.do_not_specialize_on_alignment
    ]
    assert not bad
