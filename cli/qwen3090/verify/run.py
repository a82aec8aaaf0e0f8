"""Which checks run, and in which order: cheap ones first, each independent of the others."""

from collections.abc import Iterator
from pathlib import Path

from qwen3090.verify.checkpoint import check_checkpoint
from qwen3090.verify.environment import check_environment
from qwen3090.verify.hooks import check_hooks
from qwen3090.verify.report import Finding, Status
from qwen3090.verify.series import check_series


def verify(model: Path | None = None, *, quick: bool = False) -> Iterator[Finding]:
    """Yield findings as they are made.

    Args:
        model: checkpoint directory to check; None leaves the checkpoint out.
        quick: leave out the checks that import torch or vLLM (the plugin, the checkpoint).
    """
    yield from check_environment()
    yield from check_series()
    if quick:
        yield Finding("ops", Status.SKIP, "left out by --quick")
    else:
        yield from check_hooks()
    if model is None:
        yield Finding("checkpoint", Status.SKIP, "no --model given")
    elif quick:
        yield Finding("checkpoint", Status.SKIP, "left out by --quick")
    else:
        yield from check_checkpoint(model)
