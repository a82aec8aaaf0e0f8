"""Can kernels be built on this machine: compiler, headers (curand too) and runtime of the pin?

FlashInfer compiles at the first start. Without these files vLLM silently takes a slower path.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from qwen3090.data import load_json
from qwen3090.errors import UserError
from qwen3090.setup.cuda import check_files, home_of
from qwen3090.verify.report import Finding, Status

NEXT = "qwen3090 setup --engine cuda"


def check_cuda(environ: Mapping[str, str] | None = None, prefix: Path | None = None) -> Finding:
    """Check the CUDA home that ``serve`` would give to the engine.

    Args:
        environ: environment to read CUDA_HOME from; the process's own by default.
        prefix: environment that holds the home of ``setup``; the running one by default.
    """
    given = (os.environ if environ is None else environ).get("CUDA_HOME")
    home = Path(given) if given else home_of(prefix or Path(sys.prefix))
    if home is None:
        text = f"{prefix or sys.prefix} has no CUDA toolchain and CUDA_HOME is unset"
        return Finding("cuda.toolchain", Status.FAIL, text, NEXT)
    pins = load_json("pins.json")["cuda"]
    try:
        check_files(home, pins["files"])
    except UserError as error:
        cure = f"unset CUDA_HOME; {NEXT}" if given else error.next_step or NEXT
        return Finding("cuda.toolchain", Status.FAIL, error.message, cure)
    text = f"{home}: compiler, headers and runtime are there (pinned: CUDA {pins['release']})"
    return Finding("cuda.toolchain", Status.PASS, text)
