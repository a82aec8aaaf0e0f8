"""Finds the tree a command works on without importing vLLM, which would take seconds and torch."""

from importlib.util import find_spec
from pathlib import Path

from qwen3090.patches.errors import PatchError


def default_tree() -> Path:
    """Return the folder that contains the ``vllm/`` this interpreter would import.

    Raises:
        PatchError: vLLM is not installed here.
    """
    spec = find_spec("vllm")
    if spec is None or not spec.origin:
        raise PatchError(
            "vLLM is not installed in this Python environment",
            "install it: qwen3090 setup; or name a tree: --tree DIR",
        )
    return Path(spec.origin).resolve().parent.parent
