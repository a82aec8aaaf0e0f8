"""The supervisor's own lines, on standard error beside the engine's."""

import contextlib
import os
import select
import signal
import sys

WRITE_SECONDS = 1.0  # for a reader of our output that is slow


def say(text: str) -> None:
    """Print a line of ours on standard error.

    A reader that is gone (``| head``, a closed terminal) or has stopped reading loses the line; it
    must neither end the server nor keep it from being stopped.
    """
    with contextlib.suppress(OSError, ValueError):
        error = sys.stderr.fileno()
        if select.select([], [error], [], WRITE_SECONDS)[1]:
            os.write(error, f"qwen3090: {text}\n".encode())


def describe(status: int) -> str:
    """Return an exit status in words."""
    if status > 128 and status - 128 in {int(item) for item in signal.Signals}:
        return signal.Signals(status - 128).name
    return f"status {status}"


def requests(count: int) -> str:
    """Return ``1 request`` and its like."""
    return f"{count} request{'' if count == 1 else 's'}"
