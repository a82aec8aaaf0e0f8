"""Puts the sections of the report together; one that cannot be made says why and harms no other."""

from collections.abc import Callable
from typing import Any

from qwen3090_ops.live import attention, graphs, linears, machine, pool, settings, speculation

Section = Callable[[Any], dict[str, Any]]
FORMAT = 1
SECTIONS: dict[str, Section] = {
    "series": machine.series,
    "hooks": machine.hooks,
    "machine": machine.machine,
    "settings": settings.settings,
    "attention": attention.attention,
    "pool": pool.pool,
    "graphs": graphs.graphs,
    "linears": linears.linears,
    "speculation": speculation.speculation,
}


def report(worker: Any) -> dict[str, Any]:
    """Return what a worker uses.

    Args:
        worker: vLLM's worker after it has loaded model and cache; the V1 and the V2 model runner
            are both read, on a GPU and on a CPU.

    Returns:
        ``format`` and one entry a section; ``{"error": text}`` for one that could not be made.
        Strings, numbers, booleans, None, lists and dictionaries with string keys only.
    """
    found: dict[str, Any] = {"format": FORMAT}
    for name, section in SECTIONS.items():
        try:
            found[name] = section(worker)
        except Exception as error:
            found[name] = {"error": f"{type(error).__name__}: {error}"}
    return found
