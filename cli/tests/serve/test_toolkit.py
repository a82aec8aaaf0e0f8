"""The engine is given a compiler: vLLM looks for nvcc on PATH before it believes in FlashInfer."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from qwen3090.config import resolve
from qwen3090.config.model import ServeConfig
from qwen3090.data import load_json
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from qwen3090.serve.gates import check_toolkit, cuda_home
from qwen3090.serve.render import render

PLACES = ["model=/models/target", "drafter=/models/drafter"]


@pytest.fixture
def fast() -> ServeConfig:
    return resolve("fast", sets=PLACES, environ={}).require()


def test_toolkit_comes_first_on_path(fast: ServeConfig) -> None:
    found = render(fast, {"PATH": "/usr/bin"}, cuda_home=Path("/v/cuda")).environment
    assert found["CUDA_HOME"] == "/v/cuda"
    assert found["PATH"] == f"/v/cuda/bin:{Path(sys.executable).parent}:/usr/bin"
    assert "PATH" not in render(fast, {"PATH": "/usr/bin"}).environment


def test_the_engine_finds_the_locked_ninja(fast: ServeConfig) -> None:
    found = render(fast, {"PATH": "/nowhere"}, cuda_home=Path("/v/cuda")).environment
    beside = Path(sys.executable).parent / "ninja"
    assert shutil.which("ninja", path=found["PATH"]) == (str(beside) if beside.exists() else None)


def test_toolkit_of_this_environment_unless_one_is_given(
    fast: ServeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    assert cuda_home(fast) is None
    (tmp_path / "cuda/bin").mkdir(parents=True)
    (tmp_path / "cuda/bin/nvcc").touch()
    assert cuda_home(fast) == tmp_path / "cuda"
    monkeypatch.setitem(os.environ, "CUDA_HOME", "/opt/cuda")
    assert cuda_home(fast) == Path("/opt/cuda")


def test_none_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    demo = resolve("demo", sets=["model=/models/target"], environ={}).require()
    assert cuda_home(demo) is None


def test_a_toolkit_without_curands_header_is_refused(
    fast: ServeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in load_json("pins.json")["cuda"]["files"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    check_toolkit(fast)
    (tmp_path / "include/curand_kernel.h").unlink()
    with pytest.raises(UserError) as caught:
        check_toolkit(fast)
    assert "curand_kernel.h" in caught.value.message
    assert caught.value.exit_code == exit_codes.ENGINE_NOT_AS_PINNED
