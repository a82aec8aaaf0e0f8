"""The engine's process tree: started behind a guard, its output passed through and watched."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import IO

from qwen3090.serve import descend
from qwen3090.serve.render import PLUGIN, Launch

# vLLM only logs these and goes on without the plugin.
PLUGIN_FAILURE = re.compile(rb"Failed to load plugin (" + PLUGIN.encode() + rb"\S*)")
_LONGEST_LINE = 65536


class Engine:
    """A running engine.

    Args:
        launch: command and environment.
        inherited: the environment to start from.
        secrets: variables for the engine's process alone, such as keys of the API.
        on_exit: called once with the exit status (128 + N after a signal), from another thread.
        on_plugin_failure: called with a log line that says that our plugin did not load.

    Raises:
        OSError: the guard cannot be started.
    """

    def __init__(
        self,
        launch: Launch,
        inherited: Mapping[str, str],
        secrets: Mapping[str, str],
        on_exit: Callable[[int], None],
        on_plugin_failure: Callable[[str], None],
    ) -> None:
        descend.become_subreaper()
        environment = {k: v for k, v in inherited.items() if k not in launch.removed}
        guard = [sys.executable, "-m", "qwen3090.serve.guard", *launch.argv]
        self._guard = subprocess.Popen(
            guard,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._tell(json.dumps(dict(launch.environment) | dict(secrets)))
        self._on_plugin_failure = on_plugin_failure
        self._pumps = [
            self._pump(self._guard.stdout, sys.stdout),
            self._pump(self._guard.stderr, sys.stderr),
        ]
        threading.Thread(target=self._wait, args=(on_exit,), daemon=True).start()

    def signal(self, number: int) -> None:
        """Send a signal to the engine's first process."""
        self._tell(f"signal {number}")

    def kill(self) -> None:
        """Kill the engine and everything it started; on_exit follows."""
        self._tell("kill")

    def destroy(self) -> None:
        """Leave nothing behind, whatever state things are in."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(timeout=15)
        descend.kill_descendants(os.getpid())

    def _tell(self, line: str) -> None:
        pipe = self._guard.stdin
        with self._lock, contextlib.suppress(OSError, ValueError):
            if pipe is not None:
                pipe.write(line.encode() + b"\n")
                pipe.flush()

    def _wait(self, on_exit: Callable[[int], None]) -> None:
        status = self._guard.wait()
        # The guard was killed itself: what it adopted is ours now.
        if status < 0:
            descend.kill_descendants(os.getpid())
        for pump in self._pumps:
            pump.join(timeout=5)
        on_exit(128 - status if status < 0 else status)

    def _pump(self, source: IO[bytes] | None, target: IO[str]) -> threading.Thread:
        """Copy bytes unchanged to our own output, looking at each line on the way."""
        thread = threading.Thread(target=self._copy, args=(source, target), daemon=True)
        thread.start()
        return thread

    def _copy(self, source: IO[bytes], target: IO[str]) -> None:
        line = b""
        while chunk := os.read(source.fileno(), 65536):
            _write(target, chunk)
            *complete, line = (line + chunk).split(b"\n")
            line = line[-_LONGEST_LINE:]
            for text in complete:
                if PLUGIN_FAILURE.search(text):
                    self._on_plugin_failure(text.decode(errors="replace").strip())


def _write(target: IO[str], chunk: bytes) -> None:
    """Write all bytes; a closed output (``| head``) loses them and nothing else."""
    with contextlib.suppress(OSError, ValueError):
        fd = target.fileno()
        while chunk:
            chunk = chunk[os.write(fd, chunk) :]
