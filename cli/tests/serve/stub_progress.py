"""What the stub engine tells of its steps: a loop that does what $STUB_STEPS names.

Unset: one step for each request. "none": tells nothing. Once a token was generated:
"stall": work is pending and no step ends. "prefill": steps end and prompt tokens count, no token is
generated. "stuck": steps end and one request does not move. "idle": nothing is pending.
"""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

MODE = os.environ.get("STUB_STEPS", "")
FOLDER = os.environ.get("QWEN3090_RUNTIME_DIR", "")
STEP_SECONDS = 0.05


def write(name: str, seq: int, values: dict[str, Any]) -> None:
    """Replace one record, as qwen3090_ops.progress.Record does."""
    if FOLDER:
        text = json.dumps({"seq": seq, **values, "end": seq}).ljust(1023) + "\n"
        with (Path(FOLDER) / name).open("r+" if (Path(FOLDER) / name).exists() else "w") as file:
            file.write(text)


class Steps:
    """The engine's own account of what it does."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {
            "steps": 0,
            "step_time": 0.0,
            "busy_since": None,
            "running": 0,
            "waiting": 0,
            "prompt_tokens": 0,
            "generated_tokens": 0,
            "kv_usage": 0.0,
            "batch_requests": 0,
            "batch_tokens": 0,
            "slowest": None,
        }
        self.seq = 0
        self.active = 0
        self.lock = threading.Lock()
        self.misbehaving = False
        if MODE != "none":
            self.tell()

    def tell(self) -> None:
        """Write both records."""
        self.seq += 1
        write("engine.json", self.seq, self.values)
        write("server.json", self.seq, {"active": self.active})

    def step(self, **values: Any) -> None:
        """One step that ended."""
        self.values |= {"steps": self.values["steps"] + 1, "step_time": time.monotonic(), **values}
        self.tell()

    def request(self, change: int) -> None:
        """A request came (1) or was answered (-1)."""
        if MODE == "none":
            return
        with self.lock:
            self.active += change
            self.tell()

    def token(self) -> None:
        """A token was generated; from now on the mode counts."""
        if MODE == "none":
            return
        with self.lock:
            self.step(generated_tokens=self.values["generated_tokens"] + 1)
            if MODE in ("stall", "prefill", "stuck") and not self.misbehaving:
                self.misbehaving = True
                threading.Thread(target=self.misbehave, daemon=True).start()

    def misbehave(self) -> None:
        """Do what the mode says for ever."""
        time.sleep(0.3)  # ready first
        now = time.monotonic()
        self.values |= {"busy_since": now, "running": 1, "batch_requests": 1, "batch_tokens": 2048}
        if MODE == "stuck":
            self.values["slowest"] = {"id": "cmpl-7", "state": "decoding", "since": now}
        self.tell()
        while MODE != "stall":
            time.sleep(STEP_SECONDS)
            with self.lock:
                more = 2048 if MODE == "prefill" else 0
                self.step(prompt_tokens=self.values["prompt_tokens"] + more)
