"""Runs a command with a time limit that holds, even for a process that no signal ends.

A hung driver keeps nvidia-smi inside the kernel; whoever waits for its end or for its pipes waits
with it. So output goes to files, and a process that outlives its kill is left behind.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Literal

GRACE_SECONDS = 1.0
LARGEST_OUTPUT = 4 << 20


@dataclass(frozen=True)
class Ran:
    """How a command ended.

    Attributes:
        status: its exit status; None when it did not start or did not end in time.
        out, err: what it printed, at most the last 4 MiB of each.
        trouble: why there is no status: it is not installed, may not be run, or hung.
    """

    status: int | None
    out: str = ""
    err: str = ""
    trouble: Literal["", "missing", "denied", "hung"] = ""

    @property
    def ok(self) -> bool:
        """Whether it ended with status 0."""
        return self.status == 0


def run(argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None) -> Ran:
    """Run a command in a session of its own and return within ``timeout`` and a second.

    Args:
        argv: command and arguments; nothing is read from standard input.
        timeout: seconds until the whole process group is killed.
        env: its environment; this process's own by default.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=env,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Ran(None, trouble="missing")
        except OSError as error:
            return Ran(None, err=error.strerror or "", trouble="denied")
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.returncode is None:
                _kill(process)
        return Ran(status, _text(out), _text(err), "" if status is not None else "hung")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)


def _text(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LARGEST_OUTPUT))
    return file.read().decode(errors="replace")
