"""One line of progress: redrawn on a terminal, a line every ten seconds in a log."""

import sys
import time
from collections import deque
from threading import Lock
from typing import TextIO

_MARKS = 6


def human(count: float) -> str:
    """Return a byte count in decimal units: 19.47 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1000
    return f"{count:.2f} TB"


def duration(seconds: float) -> str:
    """Return a time as 12 s, 3 min 05 s or 2 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """Counts bytes from any thread and prints how far, how fast and how long still.

    Args:
        verb: what is done, for the line's beginning.
        total: bytes in all.
        stream: default standard error.
        quiet: print messages, but no progress.
    """

    def __init__(
        self, verb: str, total: int, stream: TextIO | None = None, *, quiet: bool = False
    ) -> None:
        self.verb, self.total, self.quiet = verb, total, quiet
        self.stream = stream or sys.stderr
        self.done = 0
        self._terminal = self.stream.isatty()
        self._every = 0.5 if self._terminal else 10.0
        self._last = time.monotonic()
        # The rate is that of the last lines: what a former run left is counted in no time at all.
        self._marks: deque[tuple[float, int]] = deque([(self._last, 0)], maxlen=_MARKS)
        self._lock = Lock()
        self._drawn = False

    def advance(self, count: int) -> None:
        """Add bytes (negative: bytes thrown away)."""
        with self._lock:
            self.done += count
            now = time.monotonic()
            if self.quiet or now - self._last < self._every:
                return
            self._last = now
            self._draw(self._line(now))

    def say(self, message: str) -> None:
        """Print one line of its own."""
        with self._lock:
            if self._drawn:
                self.stream.write("\r\x1b[K")
                self._drawn = False
            self.stream.write(f"  {message}\n")
            self.stream.flush()

    def close(self) -> None:
        """End the line."""
        with self._lock:
            if self._drawn:
                self._draw(self._line(time.monotonic()))
                self.stream.write("\n")
                self._drawn = False

    def _line(self, now: float) -> str:
        since, before = self._marks[0]
        self._marks.append((now, self.done))
        rate = max(self.done - before, 0) / max(now - since, 1e-3)
        left = self.total - self.done
        eta = f", {duration(left / rate)} left" if left > 0 and rate > 0 else ""
        return f"{self.verb} {human(self.done)} of {human(self.total)}, {human(rate)}/s{eta}"

    def _draw(self, line: str) -> None:
        if self._terminal:
            self.stream.write(f"\r\x1b[K{line}")
            self._drawn = True
        else:
            self.stream.write(f"{line}\n")
        self.stream.flush()
