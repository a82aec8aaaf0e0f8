"""Two views of the installed vLLM for the tests: pristine, and with the KV-cache patches."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from qwen3090.data import data_file

# Patch, the file it changes, and a text that the file holds once it is applied.
PATCHES = (
    ("0201-kv-groups-hybrid-drafter.patch", "kv_cache_utils.py", "hybrid_group_size"),
    ("0202-align-free-state-blocks.patch", "single_type_kv_cache_manager.py", "_unfreed_state"),
    ("0301-sliding-window-block-promotion.patch", "kv_cache_utils.py", "window_block"),
    # Changes lines beside those of 0202.
    ("0304-partial-tail-once.patch", "single_type_kv_cache_manager.py", "_registered_partial"),
)
FOLDER = Path("vllm/v1/core")


def installed_vllm() -> Path | None:
    """Return the folder ``vllm`` of this Python without importing it, or None."""
    spec = find_spec("vllm")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def make_trees(package: Path, target: Path) -> dict[str, Path]:
    """Make ``stock`` and ``hybrid`` below ``target``: links to the package, patched files copied.

    The installed package may carry the series already; then ``stock`` gets its patches reversed.
    """
    trees = {name: target / name for name in ("stock", "hybrid")}
    for tree in trees.values():
        shutil.copytree(package, tree / "vllm", copy_function=_link, ignore=_ignored)
        for name in {file for _, file, _ in PATCHES}:
            copy = tree / FOLDER / name
            source = copy.resolve()
            copy.unlink()
            shutil.copyfile(source, copy)
    for patch, file, mark in PATCHES:
        if mark not in (trees["hybrid"] / FOLDER / file).read_text(encoding="utf-8"):
            _apply(trees["hybrid"], patch)
    for patch, file, mark in reversed(PATCHES):
        if mark in (trees["stock"] / FOLDER / file).read_text(encoding="utf-8"):
            _apply(trees["stock"], patch, "--reverse")
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
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tree.parent)},
    )


def python() -> str:
    """Return the interpreter that has vLLM."""
    return sys.executable
