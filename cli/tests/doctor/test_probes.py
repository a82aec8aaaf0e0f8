"""The compile probes themselves: a kernel is compiled, and a compiler that fails is quoted."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from qwen3090.doctor import jit, kernels
from qwen3090.doctor.context import Context
from qwen3090.doctor.machine import Machine
from qwen3090.verify import Finding, Status

from .conftest import NVCC
from .fake import Fake, cuda_home

NVCC_FAILS = f"""#!/bin/sh
case "$*" in *--version*) printf '{NVCC}'; exit 0 ;; esac
echo "sampling.cuh:20:10: fatal error: curand.h: No such file or directory" >&2
exit 1
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """Return this machine, said to have the engine for a GPU and a compiler that fails."""
    monkeypatch.setattr(jit, "engine_kind", lambda _: "cuda")
    home = cuda_home(tmp_path / "cuda")
    (home / "bin/nvcc").write_text(NVCC_FAILS)
    (home / "bin/nvcc").chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(home))
    return Context(Machine(environ=dict(os.environ)))


def only(findings: object) -> Finding:
    (found,) = findings  # type: ignore[misc]
    return found  # type: ignore[no-any-return]


@pytest.mark.engine
@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_triton_compiles_for_a_card_that_is_not_there(real: Context) -> None:
    found = only(kernels.triton(real))
    assert found.status is Status.PASS, found
    assert found.detail.startswith("compiled, ")


@pytest.mark.engine
@pytest.mark.skipif(find_spec("flashinfer") is None, reason="flashinfer is not installed")
def test_the_compilers_own_words_are_quoted(real: Context) -> None:
    found = only(kernels.flashinfer(real))
    assert (found.check, found.status) == ("jit.flashinfer", Status.FAIL)
    assert "fatal error: curand.h: No such file" in found.detail


def test_the_users_caches_are_left_alone(machine: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}
    plain = machine.run

    def run(argv: list[str], timeout: float, env: dict[str, str] | None = None) -> object:
        seen.update(env or {})
        return plain(argv, timeout, env)

    monkeypatch.setattr(machine, "run", run)
    machine.environ = {**machine.environ, "TRITON_CACHE_DIR": "/mine", "VLLM_USE_V1": "0"}
    assert only(kernels.triton(Context(machine))).status is Status.PASS
    assert "qwen3090-doctor-" in seen["TRITON_CACHE_DIR"]
    assert "qwen3090-doctor-" in seen["FLASHINFER_WORKSPACE_BASE"]
    assert not Path(seen["FLASHINFER_WORKSPACE_BASE"]).exists()
    assert seen["FLASHINFER_CUDA_ARCH_LIST"] == "8.6"
    assert "VLLM_USE_V1" not in seen  # as serve starts the engine
