"""Checks that every Triton kernel of ours fits an RTX 3090, by compiling it for sm_86 (no GPU)."""

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
