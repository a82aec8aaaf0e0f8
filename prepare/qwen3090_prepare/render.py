"""Progress and results as text: one line rewritten on a terminal, plain lines elsewhere."""

import time
from typing import TextIO

from qwen3090_prepare.progress import Progress
from qwen3090_prepare.runner import PrepareResult

_PLAIN_EVERY_S = 5.0


class Renderer:
    """Writes :class:`Progress` to a stream; on a non-terminal every 5 s and at each new step."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._last = ("", -_PLAIN_EVERY_S)

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        line = describe(progress)
        if self._terminal:
            self._stream.write(f"\r\033[K{line}")
            self._stream.flush()
            return
        now = time.monotonic()
        if progress.step != self._last[0] or now - self._last[1] >= _PLAIN_EVERY_S:
            self._last = (progress.step, now)
            self._stream.write(line + "\n")

    def close(self) -> None:
        """Clear the line."""
        if self._terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()


def describe(progress: Progress) -> str:
    """Return one line: step, share done, bytes, rate, time left, file."""
    share = 100 * progress.done_bytes / progress.total_bytes if progress.total_bytes else 100.0
    left = "" if progress.seconds_left is None else f", {clock(progress.seconds_left)} left"
    return (
        f"{progress.step:<11} {share:5.1f} %  {size(progress.done_bytes)} of "
        f"{size(progress.total_bytes)}, {size(int(progress.bytes_per_second))}/s{left}  "
        f"{progress.file}"
    )


def summarize(result: PrepareResult) -> list[str]:
    """Return the lines that end a run."""
    lines = []
    for step in result.steps:
        error = "" if step.relative_error is None else f", error {100 * step.relative_error:.2f} %"
        lines.append(f"{step.step:<11} {step.action:<8} {step.note}{error}")
    verb = "unchanged" if result.action == "unchanged" else "prepared"
    lines.append(
        f"{verb}: {result.directory} ({len(result.outputs)} files, "
        f"{size(result.written_bytes)} written, {clock(result.seconds)}, peak memory "
        f"{size(result.peak_rss_bytes)})"
    )
    if result.kept is not None:
        lines.append(f"what stood there before held files of yours; it is in {result.kept}")
    return lines


def size(nbytes: int) -> str:
    """Return a size in decimal units."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"


def clock(seconds: float) -> str:
    """Return a duration as 12.3 s or 2:05."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
