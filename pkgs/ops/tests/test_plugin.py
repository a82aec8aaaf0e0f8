"""The plugin refuses a vLLM it was not written for, and importing it imports nothing else."""

import subprocess
import sys
from types import ModuleType

import pytest
from qwen3090_ops import plugin, version


@pytest.mark.parametrize("found", ["0.27.1", "0.28.1", "0.28.0rc1", "dev"])
def test_another_vllm_is_refused(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    other = ModuleType("vllm")
    other.__version__ = found  # type: ignore[attr-defined]
    other.__file__ = "elsewhere/vllm/__init__.py"
    monkeypatch.setitem(sys.modules, "vllm", other)
    monkeypatch.setattr(plugin, "_registered", False)
    with pytest.raises(RuntimeError, match=r"0\.28\.0.*qwen3090 setup"):
        plugin.register()


def test_the_cpu_build_of_the_right_version_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("vllm")
    other.__version__ = "0.28.0+cpu"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", other)
    version.require_vllm()


def test_importing_the_package_loads_neither_torch_nor_vllm() -> None:
    code = (
        "import sys, qwen3090_ops, qwen3090_ops.plugin, qwen3090_ops.selftest;"
        "print([m for m in ('torch', 'vllm', 'triton') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
