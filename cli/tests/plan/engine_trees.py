"""Two views of the installed vLLM for the tests: pristine, and with the KV-group patches."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from qwen3090.data import data_file

PATCHES = ("0201-kv-groups-hybrid-drafter.patch", "0301-sliding-window-block-promotion.patch")
TOUCHED = "v1/core/kv_cache_utils.py"
_MARK = "qwen3090_ops.kv_groups"


def installed_vllm() -> Path | None:
    """Return the folder ``vllm`` of this Python without importing it, or None."""
    spec = find_spec("vllm")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def make_trees(package: Path, target: Path) -> dict[str, Path]:
    """Make ``stock`` and ``hybrid`` below ``target``: links to the package, one file changed.

    The installed package may carry the series already; then the patches are taken out.
    """
    trees = {name: target / name for name in ("stock", "hybrid")}
    for tree in trees.values():
        shutil.copytree(package, tree / "vllm", copy_function=_link, ignore=_ignored)
        file = tree / "vllm" / TOUCHED
        file.unlink()
        shutil.copyfile(package / TOUCHED, file)
    patched = _MARK in (package / TOUCHED).read_text(encoding="utf-8")
    if patched:
        for name in reversed(PATCHES):
            _apply(trees["stock"], name, "--reverse")
    else:
        for name in PATCHES:
            _apply(trees["hybrid"], name)
    return trees


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(Path(source).resolve())


def _ignored(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]


def _apply(tree: Path, name: str, *options: str) -> None:
    subprocess.run(
        ["git", "apply", "-p1", *options, str(data_file("patches") / name)],
        cwd=tree,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CEILING_DIRECTORIES": str(tree.parent)},
    )


def python() -> str:
    """Return the interpreter that has vLLM."""
    return sys.executable
