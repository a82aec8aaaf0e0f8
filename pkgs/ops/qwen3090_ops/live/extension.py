"""The worker's extra method; vLLM mixes the class into its worker (``--worker-extension-cls``).

In process: ``LLM(..., worker_extension_cls="qwen3090_ops.live.extension.ReportExtension")``, then
``llm.collective_rpc("qwen3090_report")[0]``.
"""

from typing import Any


class ReportExtension:
    """Adds ``qwen3090_report``; vLLM refuses a class whose names the worker already has."""

    def qwen3090_report(self) -> dict[str, Any]:
        """Return the report of this worker (see ``report.report``); plain values only."""
        from qwen3090_ops.live.report import report

        return report(self)
