"""vLLM's sampling kernels, as patched, compile for an RTX 3090: the interpreter would not tell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]
HERE = Path(__file__).resolve().parent


def test_the_sampling_kernels_compile_for_sm_86(tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    pytest.importorskip("triton")
    from qwen3090_ops.kernels import SHARED_LIMIT

    # vLLM asks the metadata of "vllm" whether it is the CPU build before it uses Triton.
    metadata = tmp_path / "vllm-0.28.0+cpu.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.28.0+cpu\n")
    tree = os.environ.get("QWEN3090_VLLM_TREE")
    path = [tree, str(tmp_path), os.environ.get("PYTHONPATH")]
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    script = str(HERE / "support" / "compile_patched.py")
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    needs = json.loads(done.stdout.splitlines()[-1])
    assert len(needs) == 7
    for need in needs:
        assert need["shared"] <= SHARED_LIMIT, need
        assert need["stack"] == 0, need
