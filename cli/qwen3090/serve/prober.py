"""Probes the engine in a thread of its own, so that a hanging engine never delays a signal."""

import queue
import threading
import time
from collections.abc import Callable

from qwen3090.serve.probe import Answer, Probe

STARTING_INTERVAL = 1.0
HEALTH_TIMEOUT = 10.0
# The first token may wait for kernels to compile.
TOKEN_TIMEOUT = 600.0


class Prober:
    """Puts ("ready", detail) once, then ("alive", "") or ("sick", reason) at every interval.

    Before that ("notready", reason) while no token comes, ("warming", "") when the warm-up starts,
    and ("unfit", reason), as the last word, when it fails.

    Args:
        probe: the engine's address.
        interval: seconds between health requests once ready.
        events: the supervisor's queue.
        warm_up: what to run between the first token and readiness, if anything.
    """

    def __init__(
        self,
        probe: Probe,
        interval: float,
        events: "queue.SimpleQueue[tuple[str, str]]",
        warm_up: Callable[[], Answer] | None = None,
    ) -> None:
        self._probe, self._interval, self._events = probe, interval, events
        self._warm_up = warm_up
        self._stop = threading.Event()

    def stop(self) -> None:
        """End the thread at its next pause."""
        self._stop.set()

    def run(self) -> None:
        """Wait for health, then for a token, then watch health."""
        while not self._probe.health(HEALTH_TIMEOUT).ok:
            if self._stop.wait(min(STARTING_INTERVAL, self._interval)):
                return
        while True:
            start = time.monotonic()
            answer = self._probe.token(TOKEN_TIMEOUT)
            if answer.ok:
                break
            self._events.put(("notready", answer.detail))
            if self._stop.wait(min(STARTING_INTERVAL, self._interval)):
                return
        detail = f"first token in {time.monotonic() - start:.2f} s"
        if self._warm_up is not None:
            self._events.put(("warming", ""))
            start = time.monotonic()
            answer = self._warm_up()
            if not answer.ok:
                self._events.put(("unfit", answer.detail))
                return
            detail += f", warm-up of {answer.detail} in {time.monotonic() - start:.0f} s"
        self._events.put(("ready", detail))
        while not self._stop.wait(self._interval):
            answer = self._probe.health(min(HEALTH_TIMEOUT, max(self._interval, 0.5)))
            self._events.put(("alive", "") if answer.ok else ("sick", answer.detail))
