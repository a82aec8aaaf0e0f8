"""The parts of a set-up: which engine, its metadata, system packages, the CUDA home."""

import importlib.metadata
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from qwen3090.errors import UserError
from qwen3090.setup import cuda, engine, system
from qwen3090.setup.locked import Environment

Say = Callable[[str], None]


@pytest.mark.parametrize(
    ("device", "wanted"),
    [(None, "cpu"), ("dev/nvidiactl", "cuda"), ("dev/dxg", "cuda"), ("dev/null", "cpu")],
)
def test_engine_by_device(tmp_path: Path, device: str | None, wanted: str) -> None:
    if device:
        (tmp_path / device).parent.mkdir(parents=True)
        (tmp_path / device).touch()
    assert engine.detect(tmp_path) == wanted


def test_alias_is_found_and_pip_removes_it(environment: Environment, say: Say) -> None:
    engine.write_alias(environment.site, "0.27.0")
    engine.write_alias(environment.site, "0.28.0")
    assert engine.alias_ok(environment.site, "0.28.0")
    assert not engine.alias_ok(environment.site, "0.28.1")
    (found,) = importlib.metadata.distributions(name="vllm", path=[str(environment.site)])
    assert found.version == "0.28.0+cpu"
    (environment.site / "vllm").mkdir()
    (environment.site / "vllm/mine.py").touch()
    environment.remove(["vllm"], say)
    assert not list(environment.site.glob("vllm-*"))
    assert (environment.site / "vllm/mine.py").exists()


def test_the_real_wheels_metadata_is_left_alone(environment: Environment) -> None:
    real = environment.site / "vllm-0.28.0.dist-info"
    real.mkdir()
    (real / "INSTALLER").write_text("pip\n")
    engine.remove_alias(environment.site)
    assert real.exists()
    assert not engine.alias_ok(environment.site, "0.28.0")


def missing_numa(_: str) -> list[system.Need]:
    return [system.Need("libnuma.so.1", "libnuma1", lambda: False)]


def test_ordinary_user_gets_the_command(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "needs", missing_numa)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(system, "_apt", lambda _: pytest.fail("apt-get without root"))
    with pytest.raises(UserError, match=r"libnuma\.so\.1") as error:
        system.provide("cpu", say)
    assert error.value.next_step == "sudo apt-get install libnuma1"


def test_root_installs_it(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    need = system.Need("libnuma.so.1", "libnuma1", lambda: bool(done))
    monkeypatch.setattr(system, "needs", lambda _: [need])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(system, "_apt", done.extend)
    system.provide("cpu", say)
    assert done == ["libnuma1"]


def test_apt_updates_its_lists_only_when_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        calls.append(command[2])
        return subprocess.CompletedProcess(command, 0 if "update" in calls else 100)

    monkeypatch.setattr("subprocess.run", run)
    system._apt(["libnuma1"])
    assert calls == ["install", "update", "install"]
    system._apt(["libnuma1"])
    assert calls[3:] == ["install"]


def toolchain(tmp_path: Path) -> Path:
    root = cuda.toolchain(tmp_path / "site", "13.0")
    for name in ("bin/nvcc", "include/curand.h", "nvvm/bin/cicc", "lib/libcudart.so.13"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_missing_header_is_named(tmp_path: Path) -> None:
    root = toolchain(tmp_path)
    cuda.check_files(root, ["bin/nvcc", "include/curand.h"])
    (root / "include/curand.h").unlink()
    with pytest.raises(UserError, match=r"incomplete: no include/curand\.h"):
        cuda.check_files(root, ["bin/nvcc", "include/curand.h"])


def test_cuda_home_has_what_a_linker_looks_for(tmp_path: Path) -> None:
    root = toolchain(tmp_path)
    assert cuda.home_of(tmp_path) is None
    cuda.make_home(tmp_path, root)
    home = cuda.make_home(tmp_path, root)
    assert home == cuda.home_of(tmp_path)
    assert (home / "lib64/libcudart.so").resolve() == root / "lib/libcudart.so.13"
    assert (home / "lib/libcudart.so.13").exists()
    assert (home / "include/curand.h").exists()
    assert sorted(path.name for path in root.iterdir()) == ["bin", "include", "lib", "nvvm"]
