"""Brings locked wheels into the Nix store by hash, so that nothing is fetched while building.

usage: add-wheels.py PYTHON {light|full}    PYTHON: the interpreter that the builds will run

pip downloads by name from wherever this machine gets its packages; its cache makes repeats cheap.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from qwen3090.data import data_file
from qwen3090.lock.wheelfile import Wheel, read
from qwen3090.setup.locked import pip_environment

BATCH = 40  # downloads that lie on the disk twice at a time
# What is built without the 8 GB of the whole environment.
LIGHT_GROUPS = {"build", "cli", "dev", "engine-cpu", "engine-cuda"}
LIGHT = {
    *("nvidia-cuda-cccl", "nvidia-cuda-crt", "nvidia-cuda-nvcc", "nvidia-cuda-runtime"),
    *("nvidia-curand", "nvidia-nvvm", "flashinfer-python", "apache-tvm-ffi"),
    *("msgspec", "ninja", "pyyaml", "setuptools", "tqdm"),
}
FULL_GROUPS = LIGHT_GROUPS | {"engine", "prepare"}


def output(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def wanted(version: str, extent: str) -> list[Wheel]:
    """Return the wheels of a Python version for an extent."""
    groups = FULL_GROUPS if extent == "full" else LIGHT_GROUPS
    found = [wheel for wheel in read(data_file("wheels.json")) if version in wheel.pythons]
    return [w for w in found if groups & set(w.groups) or w.project in LIGHT]


def absent(wheels: Iterable[Wheel]) -> list[Wheel]:
    """Return the wheels that the store does not have."""
    return [
        wheel
        for wheel in wheels
        if not Path(
            output("nix-store", "--print-fixed-path", "sha256", wheel.sha256, wheel.file)
        ).exists()
    ]


def add(wheels: list[Wheel], python: str, folder: Path) -> None:
    """Download wheels, checked by hash, and add them to the store."""
    listed = folder / "requirements.txt"
    listed.write_text("".join(f"{w.requirement}\n" for w in wheels), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--python", python, "download", "-qq"]
    command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--progress-bar=off"]
    command += [f"--dest={folder}", f"--requirement={listed}"]
    subprocess.run(command, check=True, env=pip_environment(folder))
    files = [folder / wheel.file for wheel in wheels]
    output("nix-store", "--add-fixed", "sha256", *map(str, files))
    for file in files:
        file.unlink()


def main(python: str, extent: str) -> None:
    """Add what is missing, in batches."""
    version = output(python, "-c", "import sys; print(*sys.version_info[:2], sep='.')")
    todo = absent(wanted(version, extent))
    print(f"{len(todo)} wheels to add for Python {version}")
    for start in range(0, len(todo), BATCH):
        with tempfile.TemporaryDirectory(prefix="wheels-") as folder:
            add(todo[start : start + BATCH], python, Path(folder))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in {"light", "full"}:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
