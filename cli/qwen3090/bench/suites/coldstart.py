"""``cold-start``: starts ``qwen3090 serve`` itself, with empty compile caches and with full ones.

The caches (vLLM, Triton, Inductor, FlashInfer) are put into a new directory, so that the first
start is a first start whatever was run before. The operating system's file cache is left as it is:
emptying it needs root, and the row would otherwise measure the disk.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.results import Row, SuiteResult
from qwen3090.bench.runner import Options, Say
from qwen3090.bench.stream import ask
from qwen3090.bench.target import connect
from qwen3090.demo import server
from qwen3090.errors import UserError

REPEATS = 1
SHOWS = ("ready", "first_token")
CACHES = {
    "VLLM_CACHE_ROOT": "vllm",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
}
HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "seed": 1}


def run(settings: Sequence[str], options: Options, say: Say) -> SuiteResult:
    """Start, ask and stop the server, first with empty caches and then with what that left.

    Args:
        settings: profile and options of ``qwen3090 serve``; port and key are chosen here.

    Raises:
        InvalidRun: the server did not start, did not answer or did not stop.
    """
    repeats = REPEATS if options.repeats is None else options.repeats
    rows = {name: Row(name) for name in ("empty caches", "full caches")}
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory(prefix="qwen3090-cold-") as name:
            folder = Path(name)
            for row in rows.values():
                sample = _start(settings, folder)
                row.samples.append(sample)
                say(
                    f"cold-start: {repeat + 1} of {repeats}, {row.name}: ready after "
                    f"{sample['ready']:.1f} s, first token after {sample['first_token']:.1f} s"
                )
    described = json.dumps(list(settings))
    return SuiteResult(
        suite="cold-start",
        about="The server's start: process, READY, a user's first token.",
        shows=SHOWS,
        axis="",
        warmups=0,
        repeats=repeats,
        prompts=hashlib.sha256(described.encode()).hexdigest(),
        notes=["compile caches only; the operating system may have the model's files in memory"],
        rows=list(rows.values()),
    )


def _start(settings: Sequence[str], folder: Path) -> dict[str, float]:
    """Return the times of one start, in seconds."""
    port, key = server.free_port(), server.write_key(folder / "api-key")
    own = ("--set", f"port={port}", "--set", f"api_key_file={folder / 'api-key'}")
    argv = [sys.executable, "-m", "qwen3090", "serve", *settings, *own]
    caches = {name: str(folder / place) for name, place in CACHES.items()}
    log = folder / "server.log"
    started = time.perf_counter()
    try:
        with server.running(argv, port, key, log, {**os.environ, **caches}) as up:
            ready = time.perf_counter() - started
            target = connect(up.url, key)
            before = time.perf_counter() - started
            answer = ask(target, HELLO)
            first = before + answer.ttft
    except InvalidRun:
        raise
    except UserError as error:
        tail = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
        raise InvalidRun(f"cold-start: {error.message}\n" + "\n".join(tail)) from None
    return {"ready": ready, "first_token": first}
