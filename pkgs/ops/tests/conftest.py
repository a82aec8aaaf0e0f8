"""Fixtures of the engine tests: the demo checkpoint, prepared ways, and vLLM runs in subprocesses.

Each is made once per test session. QWEN3090_VLLM_TREE may name a folder with a patched `vllm/`
to test instead of the installed one.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
from engine_session import Cases, Session, SessionLost

HERE = Path(__file__).resolve().parent
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
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return a function that runs cases (see support/session.py).

    Importing vLLM costs more than loading a tiny checkpoint: one process an environment stays
    until the tests end, or one of them is lost.
    """
    pytest.importorskip("vllm")
    kept: dict[str, Session] = {}

    def run(cases: Cases, *, interpret: bool = False, **variables: str) -> dict[str, Any]:
        key = f"{interpret} {sorted(variables.items())}"
        if key not in kept:
            kept[key] = Session(tmp_path_factory.mktemp("engine"), interpret, variables)
        try:
            return kept[key].run(cases)
        except SessionLost as lost:
            pytest.fail(f"engine process failed:\n{kept.pop(key).end()}{lost}")

    yield run
    for session in kept.values():
        session.end()
