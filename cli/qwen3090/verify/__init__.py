"""Proof that an installation is what it claims: pins, series, plugin, settings, checkpoints."""

from qwen3090.verify.report import Finding, Status, as_document, render, summary, worst
from qwen3090.verify.run import verify
from qwen3090.verify.settings import Asked

__all__ = ["Asked", "Finding", "Status", "as_document", "render", "summary", "verify", "worst"]
