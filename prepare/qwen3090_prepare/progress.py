"""Progress of a run: bytes, rate and time left, handed to a callback at most ten times a second."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_WINDOW_S = 8.0


@dataclass(frozen=True)
class Progress:
    """Where a run is.

    Attributes:
        step: "hash", a step's name, "copy" or "verify".
        file: the file at hand.
        done_bytes: bytes read and processed so far, in the whole run.
        total_bytes: bytes that the whole run will process.
        bytes_per_second: rate over the last seconds.
        seconds_left: estimate, None before there is a rate.
    """

    step: str
    file: str
    done_bytes: int
    total_bytes: int
    bytes_per_second: float
    seconds_left: float | None


class Meter:
    """Counts bytes from any thread and calls back with a :class:`Progress`."""

    def __init__(self, callback: Callable[[Progress], None] | None) -> None:
        self._callback = callback
        self._lock = threading.Lock()
        self._marks: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._last = ("", "")
        self.done = 0
        self.total = 0

    def expect(self, nbytes: int) -> None:
        """Add to the total."""
        with self._lock:
            self.total += nbytes

    def add(self, step: str, file: str, nbytes: int) -> None:
        """Count ``nbytes`` as done; call back when it is time or the step or file changed."""
        with self._lock:
            self.done += nbytes
            now = time.monotonic()
            changed = (step, file) != self._last
            if self._callback is None or (not changed and now - self._marks[-1][0] < 0.1):
                return
            self._last = (step, file)
            self._marks.append((now, self.done))
            while len(self._marks) > 2 and now - self._marks[0][0] > _WINDOW_S:
                self._marks.popleft()
            since, before = self._marks[0]
            rate = (self.done - before) / max(now - since, 1e-6)
            left = (self.total - self.done) / rate if rate > 0 else None
            # Called under the lock: reports never overlap and never go backwards.
            self._callback(Progress(step, file, self.done, self.total, rate, left))
