"""Entry point `vllm.stat_logger_plugins`: tells the meter after each engine step."""

from typing import Any

from vllm.v1.metrics.loggers import StatLoggerBase

from qwen3090_ops.api.meter import METER


class RequestStats(StatLoggerBase):  # type: ignore[misc]
    """Hands the statistics of finished requests to the meter; vLLM makes one for each engine."""

    def __init__(self, vllm_config: Any, engine_index: int = 0) -> None:
        """Take what vLLM gives every stat logger; nothing of it is needed."""

    def record(
        self,
        scheduler_stats: Any,
        iteration_stats: Any,
        mm_cache_stats: Any = None,
        engine_idx: int = 0,
    ) -> None:
        """Count one engine step."""
        if iteration_stats is not None:
            METER.finish(iteration_stats.finished_requests)

    def log_engine_initialized(self) -> None:
        """Say nothing."""
