"""How many drafts a step of n requests makes, where that depends on n (patch 0244).

vLLM's scheduler takes the drafts of the next step from the number of requests in this one
(``num_speculative_tokens_per_batch_size``), but its V2 speculators draft the most there are, and
throw the rest away. The speculator sees the same number of requests, so it can look up the same.

Drafts of one step are made in one CUDA graph. Numbers of requests that share a graph share its
drafts, and the graph makes the most that any of them wants.
"""

from collections.abc import Sequence
from typing import Any


class DraftSteps:
    """Drafts by number of requests.

    A batch of n requests verifies ``wanted(n)`` drafts of each in the next step; ``made(m)`` are
    made in a batch or a graph of m rows, as many or more.
    """

    def __init__(self, by_requests: Sequence[int]) -> None:
        """Take the drafts for 0, 1, 2, ... requests; the first is not used."""
        self._wanted = tuple(by_requests)
        self._made = list(by_requests)

    @classmethod
    def configured(cls, vllm_config: Any) -> "DraftSteps":
        """Return what a VllmConfig asks for, by the function that its scheduler uses."""
        from vllm.v1.spec_decode.dynamic.utils import build_dynamic_sd_schedule_lookup

        config, seats = vllm_config.speculative_config, vllm_config.scheduler_config.max_num_seqs
        most = config.num_speculative_tokens
        if not config.uses_dynamic_speculative_decoding():
            return cls([most] * (seats + 1))
        ranges = config.num_speculative_tokens_per_batch_size
        return cls(build_dynamic_sd_schedule_lookup(ranges, seats, most))

    def share(self, manager: Any) -> None:
        """Follow which requests share a graph, before graphs are captured.

        Args:
            manager: vLLM's CudaGraphManager of steps that draft one token for each request
                (v1/worker/gpu/cudagraph_utils.py); ``dispatch`` reads the same candidates.
        """
        from vllm.v1.worker.gpu.cudagraph_utils import _is_compatible

        for requests in range(1, len(self._wanted)):
            for graph in manager._candidates.get((requests, 0), ()):
                if _is_compatible(graph, requests, requests, 1, 0, None):
                    rows = graph.num_reqs or requests
                    self._made[rows] = max(self._made[rows], self._wanted[requests])
                    break

    def wanted(self, requests: int) -> int:
        """Return the drafts of each request that the next step verifies."""
        return self._wanted[requests]

    def made(self, rows: int) -> int:
        """Return the drafts that are made for each of a number of rows, padded ones included."""
        return self._made[rows]
