"""Proof that an installation is what it claims: pins, series, plugin, checkpoint, CUDA headers."""

from qwen3090.verify.report import Finding, Status, render, worst
from qwen3090.verify.run import verify

__all__ = ["Finding", "Status", "render", "verify", "worst"]
