"""Fixtures of the engine tests: the demo checkpoint, prepared ways, and vLLM runs in subprocesses.

Each is made once per test session. QWEN3090_VLLM_TREE may name a folder with a patched `vllm/`
to test instead of the installed one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
Cases = list[dict[str, Any]]
Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with base, drafter, drafter-bf16 and overlay of the tiny checkpoint."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "qwen3090", "demo", "--make", str(folder)]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="session")
def prepare(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that prepares a base and remembers the result by its options."""
    import qwen3090_prepare

    made: dict[str, Path] = {}

    def run(base: Path, *, bits: int = 8, **options: Any) -> Path:
        key = f"{base}|{bits}|{sorted(options.items())}"
        if key not in made:
            out = tmp_path_factory.mktemp("prepared") / "checkpoint"
            all_bits = {"head_bits": bits, "embed_bits": bits, "mtp_bits": bits}
            qwen3090_prepare.run(base, out, **all_bits, **options)
            made[key] = out
        return made[key]

    return run


@pytest.fixture(scope="session")
def dense_twin(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Return a function that writes an unquantized copy of a checkpoint (see its script)."""

    def run(checkpoint: Path) -> Path:
        out = tmp_path_factory.mktemp("dense") / "checkpoint"
        script = str(HERE / "support" / "dense_reference.py")
        subprocess.run([sys.executable, script, str(checkpoint), str(out)], check=True)
        return out

    return run


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that runs cases (see support/session.py) in one engine process."""
    pytest.importorskip("vllm")

    def run(cases: Cases, *, interpret: bool = False, **variables: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("engine")
        path = [os.environ.get("PYTHONPATH", "")]
        if tree := os.environ.get("QWEN3090_VLLM_TREE"):
            path.insert(0, tree)
        environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TORCHDYNAMO_DISABLE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            **variables,
        }
        if interpret:
            # vLLM asks the metadata of "vllm" whether it is the CPU build before it uses Triton.
            metadata = folder / "metadata" / "vllm-0.28.0+cpu.dist-info" / "METADATA"
            metadata.parent.mkdir(parents=True)
            metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.28.0+cpu\n")
            path[:0] = [str(HERE / "interpret"), str(folder / "metadata")]
            environment["TRITON_INTERPRET"] = "1"
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
        script = [str(HERE / "support" / "session.py"), "cases.json", "results.json"]
        with (folder / "log").open("w") as log:
            done = subprocess.run(
                [sys.executable, *script],
                cwd=folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=1200,
            )
        if done.returncode or not (folder / "results.json").exists():
            pytest.fail(f"engine process failed:\n{(folder / 'log').read_text()[-4000:]}")
        results: dict[str, Any] = json.loads((folder / "results.json").read_text())
        return results

    return run
