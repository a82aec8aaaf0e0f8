"""A CUDA home made of links to the wheels' toolchain, for what FlashInfer and Triton compile.

The wheels hold ``lib/libcudart.so.13`` where the linker looks for ``lib64/libcudart.so``, and no
stub of the driver's library; this folder adds those names without touching a wheel's files.
"""

import ctypes.util
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from qwen3090.errors import UserError

HOME_NAME = "cuda"
# Where systems keep the driver's libraries: NixOS, WSL2, Debian, and the others.
DRIVER_FOLDERS = (
    "/run/opengl-driver/lib",
    "/usr/lib/wsl/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)


def toolchain(site: Path, release: str) -> Path:
    """Return where the wheels of a CUDA release (``13.0``) put their files."""
    return site / "nvidia" / f"cu{release.partition('.')[0]}"


def check_files(root: Path, files: Iterable[str]) -> None:
    """Check that compiler, headers and runtime are there.

    Raises:
        UserError: naming every file that is missing.
    """
    if missing := [name for name in files if not (root / name).is_file()]:
        raise UserError(
            f"the CUDA toolchain in {root} is incomplete: no {', '.join(missing)}",
            "pip uninstall nvidia-cuda-nvcc nvidia-curand, then 'qwen3090 setup --engine cuda'",
        )


def _driver() -> Path | None:
    for path in (Path(folder) / "libcuda.so.1" for folder in DRIVER_FOLDERS):
        if path.exists():
            return path
    name = ctypes.util.find_library("cuda")
    return Path(name) if name and Path(name).is_absolute() else None


def make_home(prefix: Path, root: Path) -> Path:
    """Make ``PREFIX/cuda`` (bin, include, nvvm, lib64) anew and return it."""
    home = prefix / HOME_NAME
    part = prefix / f".{HOME_NAME}.part"
    shutil.rmtree(part, ignore_errors=True)
    (part / "lib64" / "stubs").mkdir(parents=True)
    for name in ("bin", "include", "nvvm"):
        (part / name).symlink_to(root / name)
    (part / "lib").symlink_to("lib64")
    for library in sorted((root / "lib").iterdir()):
        (part / "lib64" / library.name).symlink_to(library)
        plain = re.sub(r"\.so\.[\d.]+$", ".so", library.name)
        if plain != library.name and not (root / "lib" / plain).exists():
            link = part / "lib64" / plain
            link.unlink(missing_ok=True)
            link.symlink_to(library)
    if driver := _driver():
        (part / "lib64" / "stubs" / "libcuda.so").symlink_to(driver)
    shutil.rmtree(home, ignore_errors=True)
    part.replace(home)
    return home


def home_of(prefix: Path) -> Path | None:
    """Return the CUDA home of an environment, or None when it has none."""
    home = prefix / HOME_NAME
    return home if (home / "bin" / "nvcc").exists() else None
