"""An orderly stop: refuse new requests, let those that run finish, end the engine, within a bound.

The engine is asked to stop only when nothing is being answered any more, because vLLM, once asked,
answers what arrives with nothing and may cut the end of a stream.
"""

import signal
from typing import Protocol

from qwen3090.config.model import ServeConfig
from qwen3090.serve.runtime import Runtime
from qwen3090.serve.say import requests, say


class Stoppable(Protocol):
    """What is stopped (process.Engine)."""

    def signal(self, number: int) -> None:
        """Send a signal to the engine's first process."""

    def kill(self) -> None:
        """Kill the engine and everything it started."""


class Stopping:
    """The phases of one stop; ``tick`` moves on.

    Args:
        config: shutdown_timeout and kill_timeout.
        runtime: where new requests are refused and running ones counted.
        engine: what is stopped.
        now: when the stop was asked for (CLOCK_MONOTONIC, seconds).
    """

    def __init__(
        self, config: ServeConfig, runtime: Runtime, engine: Stoppable, now: float
    ) -> None:
        self._config, self._runtime, self._engine = config, runtime, engine
        self._since = now
        self._asked = False
        self.forced = False
        runtime.ask_to_drain()

    def tick(self, now: float) -> None:
        """Ask the engine to stop when it is time, kill it when it is late."""
        if self.forced:
            return
        waited, config = now - self._since, self._config
        if not self._asked:
            # None: an engine that does not count its requests finishes them by itself.
            active = self._runtime.active_requests() or 0
            if active and waited < config.shutdown_timeout:
                return
            if active:
                say(f"{requests(active)} not finished within {config.shutdown_timeout} s: cut off")
            self._asked = True
            self._engine.signal(signal.SIGTERM)
        elif waited > config.shutdown_timeout + config.kill_timeout:
            say(
                f"the engine did not stop within {config.shutdown_timeout + config.kill_timeout} s:"
                " killing it"
            )
            self.kill()

    def kill(self) -> None:
        """Kill the engine now."""
        self.forced = True
        self._engine.kill()
