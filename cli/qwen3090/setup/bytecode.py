"""Imports the engine once, in a process of its own: proof that it loads, and compiled bytecode.

A start of the server imports vLLM in three processes one after the other. Without bytecode each
compiles thousands of files again (19 s of processor time against 9 s, measured), and where
PYTHONDONTWRITEBYTECODE is set that never ends. Only what is imported is compiled: a fifth of the
files.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.setup.engine import Engine

MODULES: dict[Engine, tuple[str, ...]] = {
    "cpu": (
        "vllm.entrypoints.openai.api_server",
        "vllm.v1.engine.core",
        "vllm.v1.worker.cpu_worker",
        "vllm.model_executor.models.qwen3_5",
        "vllm.model_executor.models.qwen3_5_mtp",
        "openai.resources.chat.completions",
    ),
    "cuda": ("vllm.entrypoints.openai.api_server", "vllm.v1.engine.core"),
}
_MARKER = "qwen3090-imported.txt"
_TIMEOUT_S = 600


def forget(prefix: Path) -> None:
    """Make the next set-up import the engine again."""
    (prefix / _MARKER).unlink(missing_ok=True)


def import_engine(
    prefix: Path,
    python: Path,
    engine: Engine,
    state: str,
    say: Callable[[str], None],
) -> bool:
    """Import the engine unless this very state of it was imported before.

    Args:
        prefix: the environment; holds the marker.
        python: its interpreter.
        engine: which modules.
        state: names the installed wheels and the series; another state imports again.

    Returns:
        Whether anything was imported.

    Raises:
        UserError: an import fails; the message ends with the interpreter's last line.
    """
    marker = prefix / _MARKER
    if marker.is_file() and marker.read_text(encoding="utf-8") == state:
        return False
    say("importing the engine once (compiles its bytecode)")
    program = "; ".join(f"import {name}" for name in MODULES[engine])
    # -I: without PYTHONPATH, which may hold another vLLM, and without PYTHONDONTWRITEBYTECODE.
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", program],
            env={**os.environ, "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"},
            cwd=prefix,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"importing the engine took over {_TIMEOUT_S} s", "run it again") from None
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise UserError(f"the installed engine does not import: {last}", "qwen3090 setup --repair")
    marker.write_text(state, encoding="utf-8")
    return True
