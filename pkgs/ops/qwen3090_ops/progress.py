"""What the engine is doing, told to whoever supervises it: one small record, renewed each step.

vLLM's own figures cannot tell a long prefill from a dead engine: token counters stand still while
a prompt is computed in chunks, `/health` answers as long as the process lives, and statistics come
after a step, so that a first step that hangs is never told. These records are written when work
arrives, when a step is scheduled and when it has ended.

$QWEN3090_RUNTIME_DIR names the folder; without it nothing is written. Each file has one writer and
a fixed length: a JSON object, padded with spaces. ``seq`` and ``end`` are equal in a whole record.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VARIABLE = "QWEN3090_RUNTIME_DIR"
ENGINE = "engine.json"  # written by the scheduler, in the engine core's process
SERVER = "server.json"  # written by the middleware, in the API's process
DRAIN = "drain"  # exists once the supervisor wants no new requests
LENGTH = 1024


def runtime_dir(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the supervisor's folder, or None when there is no supervisor."""
    given = environ.get(VARIABLE, "")
    return Path(given) if given else None


class Record:
    """One file of the runtime directory, written in place.

    Args:
        path: the file; made when it is missing. None writes nothing.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path | None) -> None:
        self._seq = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        self._fd = None if path is None else os.open(path, flags, 0o600)

    def write(self, values: Mapping[str, Any]) -> None:
        """Replace the record; ``time`` is CLOCK_MONOTONIC in seconds, the same in each process.

        Raises:
            ValueError: the values do not fit into the fixed length.
            OSError: it cannot be written.
        """
        if self._fd is None:
            return
        self._seq += 1
        whole = {"seq": self._seq, "pid": os.getpid(), "time": time.monotonic(), **values}
        text = json.dumps(whole | {"end": self._seq}).encode()
        if len(text) >= LENGTH:
            raise ValueError(f"a progress record of {len(text)} bytes: at most {LENGTH - 1}")
        os.pwrite(self._fd, text.ljust(LENGTH - 1) + b"\n", 0)
