"""The patch series: read it, put it into a vLLM tree, prove that it is there, export it again."""

from qwen3090.patches.apply import Outcome, apply, unapply
from qwen3090.patches.errors import PatchError
from qwen3090.patches.model import Patch
from qwen3090.patches.series import Series, load_series, series_hash
from qwen3090.patches.verify import PatchState, Report, inspect, verify

__all__ = [
    "Outcome",
    "Patch",
    "PatchError",
    "PatchState",
    "Report",
    "Series",
    "apply",
    "inspect",
    "load_series",
    "series_hash",
    "unapply",
    "verify",
]
