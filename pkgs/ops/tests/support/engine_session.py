"""The other end of session.py: a process that answers lists of cases until its input ends."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SECONDS = 1200  # for one list of cases
Cases = list[dict[str, Any]]


class SessionLost(Exception):
    """The process ended, or took too long."""


class Session:
    """One engine process; its files, the log among them, are in ``folder``."""

    def __init__(self, folder: Path, interpret: bool, variables: dict[str, str]) -> None:
        self.folder, self.log = folder, folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(TESTS / "support" / "session.py")],
                cwd=folder,
                env=_environment(folder, interpret, variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def run(self, cases: Cases) -> dict[str, Any]:
        """Return the results by the names of the cases.

        Raises:
            SessionLost: there are none.
        """
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(cases) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise SessionLost("it had ended") from error
        if not select.select([self.process.stdout], [], [], SECONDS)[0]:
            raise SessionLost(f"no answer in {SECONDS} s")
        if not (line := self.process.stdout.readline()):
            raise SessionLost("it ended")
        results: dict[str, Any] = json.loads(line)
        return results

    def end(self) -> str:
        """End the process; return the end of its log."""
        self.process.kill()
        self.process.communicate()
        return self.log.read_text()[-4000:]


def _environment(folder: Path, interpret: bool, variables: dict[str, str]) -> dict[str, str]:
    path = [os.environ.get("PYTHONPATH", "")]
    if tree := os.environ.get("QWEN3090_VLLM_TREE"):
        path.insert(0, tree)
    found = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",  # a second thread of such small layers only waits
        "TORCHDYNAMO_DISABLE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        **variables,
    }
    if interpret:
        # vLLM asks the metadata of "vllm" whether it is the CPU build before it uses Triton.
        metadata = folder / "metadata" / "vllm-0.28.0+cpu.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.28.0+cpu\n")
        path[:0] = [str(TESTS / "interpret"), str(folder / "metadata")]
        found["TRITON_INTERPRET"] = "1"
    found["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    return found
