"""Runs each file of `interpreted/` in a process with TRITON_INTERPRET=1.

Triton decides when it is imported whether kernels are compiled or run as Python, so the tests that
need the interpreter cannot share a process with the rest. Alone: TRITON_INTERPRET=1 pytest FILE.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
HERE = Path(__file__).resolve().parent
FILES = sorted(path.name for path in (HERE / "interpreted").glob("test_*.py"))


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="this is that process")
@pytest.mark.parametrize("name", FILES)
def test_with_the_interpreter(name: str, tmp_path: Path) -> None:
    # vLLM asks the metadata of "vllm" whether it is the CPU build before it uses Triton.
    metadata = tmp_path / "vllm-0.28.0+cpu.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.28.0+cpu\n")
    path = [str(HERE / "interpret"), str(tmp_path), os.environ.get("PYTHONPATH", "")]
    if tree := os.environ.get("QWEN3090_VLLM_TREE"):
        path.insert(0, tree)
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(HERE / "interpreted" / name)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
