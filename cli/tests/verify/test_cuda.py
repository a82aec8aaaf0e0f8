"""The CUDA home must be whole: a missing curand header alone would silently cost speed."""

from pathlib import Path

import pytest
from qwen3090.data import load_json
from qwen3090.verify import Asked, Status, verify
from qwen3090.verify import run as run_module
from qwen3090.verify.cuda import check_cuda

FILES = load_json("pins.json")["cuda"]["files"]


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / "cuda" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cuda" / name).touch()
    return tmp_path


def test_a_whole_home_passes(prefix: Path) -> None:
    assert check_cuda({}, prefix).status is Status.PASS


def test_no_home_fails(tmp_path: Path) -> None:
    found = check_cuda({}, tmp_path)
    assert (found.status, found.next) == (Status.FAIL, "qwen3090 setup --engine cuda")


def test_curands_header_is_needed(prefix: Path) -> None:
    (prefix / "cuda/include/curand_kernel.h").unlink()
    found = check_cuda({}, prefix)
    assert found.status is Status.FAIL
    assert "curand_kernel.h" in found.detail
    assert "setup --engine cuda" in found.next


def test_a_foreign_cuda_home_is_what_counts(prefix: Path, tmp_path: Path) -> None:
    found = check_cuda({"CUDA_HOME": str(tmp_path / "other")}, prefix)
    assert found.status is Status.FAIL
    assert str(tmp_path / "other") in found.detail
    assert "unset CUDA_HOME" in found.next


@pytest.mark.parametrize(("kind", "checked"), [("cuda", True), ("cpu", False), (None, False)])
def test_only_the_gpu_engine_needs_it(
    kind: str | None, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "engine_kind", lambda _: kind)
    names = [finding.check for finding in verify(Asked(), quick=True)]
    assert ("cuda.toolchain" in names) is checked
