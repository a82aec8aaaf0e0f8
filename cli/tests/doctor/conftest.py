"""Fixtures: a machine that is well, with the engine for a GPU installed on it."""

from pathlib import Path

import pytest
from qwen3090.bounded import Ran
from qwen3090.doctor import jit, report

from .fake import FILES, QUIET_KERNEL, Fake, cuda_home

NVCC = "Cuda compilation tools, release 13.0, V13.0.88\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return a machine on which every check passes."""
    for name in ("QWEN3090_PROFILE", "CREDENTIALS_DIRECTORY", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    home = cuda_home(tmp_path / "cuda")
    monkeypatch.setenv("CUDA_HOME", str(home))
    monkeypatch.setenv("QWEN3090_STATE", "/state")
    monkeypatch.setattr(jit, "installed_versions", dict)
    monkeypatch.setattr(jit, "engine_kind", lambda _: "cuda")
    monkeypatch.setattr(report, "installed_versions", lambda: {"vllm": "0.28.0"})
    fake = Fake(
        root=tmp_path / "root",
        environ={
            "HOME": "/home/ada",
            "USER": "ada",
            "PATH": "/usr/bin:/bin",
            "CUDA_HOME": str(home),
        },
        real=home,
    )
    for path, text in FILES.items():
        fake.write(path, text)
    fake.at("/dev/shm").mkdir()
    fake.at("/state").mkdir()
    fake.at("/home/ada/.cache").mkdir(parents=True)
    fake.answers = {
        "nvcc --version": Ran(0, NVCC),
        "_TRANSPORT=kernel": Ran(0, QUIET_KERNEL),
        "probe_flashinfer": Ran(0, "DONE sampling module compiled, 3.1 MB\n"),
        "probe_triton": Ran(0, "DONE compiled, 5480 bytes, and run on the card\n"),
    }
    return fake
