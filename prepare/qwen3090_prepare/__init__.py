"""Requantize a checkpoint of the architecture: pure, streaming, byte-reproducible steps."""

from qwen3090_prepare.base_config import generate_base_files, generated_base_config
from qwen3090_prepare.checker import check
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.findings import Finding
from qwen3090_prepare.options import STEPS
from qwen3090_prepare.progress import Progress
from qwen3090_prepare.runner import PrepareResult, StepResult, run

__all__ = [
    "STEPS",
    "Finding",
    "PrepareError",
    "PrepareResult",
    "Progress",
    "StepResult",
    "check",
    "generate_base_files",
    "generated_base_config",
    "run",
]
