"""Drafts truncated like the target's tokens: what the target cannot sample is not proposed.

The drafter samples inside captured CUDA graphs, so each request's top-k and top-p stand in device
buffers of fixed address that are refreshed between steps. Any proposal is verified without loss as
long as the cached logits are those that were sampled from: the truncated ones.
"""

from typing import Any, Protocol

import numpy as np
import torch

from qwen3090_ops.knobs import switch

KNOB = "draft_truncation"


class _Parameter(Protocol):
    np: np.ndarray[Any, Any]
    gpu: torch.Tensor


class SamplingStates(Protocol):
    """What is read of vLLM's ``SamplingStates``: one top-k and top-p for each request state."""

    top_k: _Parameter
    top_p: _Parameter


class DraftTruncation:
    """Each request's top-k and top-p on the device, and the truncation of draft logits by them.

    Attributes:
        top_k: int32 [max_num_reqs]; 0 until a request's values arrive, which truncates nothing.
        top_p: float32 [max_num_reqs].
    """

    def __init__(self, max_num_reqs: int, device: torch.device) -> None:
        self.top_k = torch.zeros(max_num_reqs, dtype=torch.int32, device=device)
        self.top_p = torch.ones(max_num_reqs, dtype=torch.float32, device=device)
        self._seen: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None

    @classmethod
    def configured(cls, vllm_config: Any, device: torch.device) -> "DraftTruncation | None":
        """Return the truncation a configuration asks for; None for greedy drafts or when off.

        Raises:
            ValueError: ``{"qwen3090": {"draft_truncation": ...}}`` is not a boolean.
        """
        wanted = switch(vllm_config.additional_config, KNOB, True)
        if vllm_config.speculative_config.draft_sample_method != "probabilistic":
            return None
        return cls(vllm_config.scheduler_config.max_num_seqs, device) if wanted else None

    def update(self, states: SamplingStates) -> None:
        """Refresh the buffers from vLLM's states; two small copies, none when nothing changed."""
        top_k, top_p = states.top_k, states.top_p
        if self._seen is not None:
            seen_k, seen_p = self._seen
            if np.array_equal(seen_k, top_k.np) and np.array_equal(seen_p, top_p.np):
                return
        self._seen = top_k.np.copy(), top_p.np.copy()
        self.top_k.copy_(top_k.gpu, non_blocking=True)
        self.top_p.copy_(top_p.gpu, non_blocking=True)

    def logits(
        self,
        model: Any,
        hidden_states: torch.Tensor,
        states: torch.Tensor,
        temperature: torch.Tensor,
    ) -> torch.Tensor:
        """Compute a model's draft logits and set to -inf what a request's parameters remove.

        With a short draft vocabulary the short rows are truncated, before they are spread over
        the whole vocabulary.

        Args:
            model: vLLM's drafter.
            hidden_states: [rows, hidden size].
            states: int [rows]: the request state of each row; negative for padding.
            temperature: float32 [max_num_reqs]; the logits returned are not divided by it.

        Returns:
            [rows, vocab], in the type of the model's logits.
        """
        from qwen3090_ops.sampling.truncate import truncate

        short = getattr(model, "draft_vocab", None)
        compute = model.compute_logits if short is None else model.compute_short_logits
        logits: torch.Tensor = truncate(
            compute(hidden_states), self.top_k, self.top_p, temperature=temperature, states=states
        )
        return logits if short is None else short.full_logits(logits)
