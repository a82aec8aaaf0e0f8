"""The card during a run: model, driver, power limit, and clocks, heat and power as it goes on."""

import os
import threading
from types import TracebackType
from typing import Any

from qwen3090 import smi
from qwen3090.bench.statistics import summarise

STATIC = ("name", "driver_version", "power.limit", "memory.total")
MOVING = {
    "clocks.sm": "MHz",
    "clocks.mem": "MHz",
    "temperature.gpu": "C",
    "power.draw": "W",
    "utilization.gpu": "%",
}
INTERVAL = 2.0  # seconds


def describe() -> dict[str, str | None] | None:
    """Return name, driver, power limit (W) and memory (MiB) of the card, or None without one."""
    try:
        rows = smi.query(STATIC, smi.selected(os.environ))
    except smi.SmiError:
        return None
    return rows[0] if rows else None


class Watch:
    """Reads the card every two seconds while a run lasts; without a card it reads nothing."""

    def __init__(self) -> None:
        self.readings: dict[str, list[float]] = {name: [] for name in MOVING}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._read()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None:
            self._read()

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL) and self._read():
            pass

    def _read(self) -> bool:
        """Keep one reading; return whether there is a card."""
        try:
            rows = smi.query(list(MOVING), smi.selected(os.environ))
        except smi.SmiError:
            return False
        for name, text in rows[0].items() if rows else ():
            if (value := smi.number(text)) is not None:
                self.readings[name].append(value)
        return bool(rows)

    def as_dict(self) -> dict[str, Any] | None:
        """Return first, last, median and extremes of each reading, or None without readings."""
        found: dict[str, Any] = {}
        for name, values in self.readings.items():
            if (summary := summarise(values)) is not None:
                found[name] = {
                    "unit": MOVING[name],
                    "before": values[0],
                    "after": values[-1],
                    "median": summary.median,
                    "min": summary.min,
                    "max": summary.max,
                }
        return found or None
