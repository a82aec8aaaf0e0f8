"""FLASH_ATTN with split attention for verify steps; everything else is vLLM's FlashAttention.

Registered in place of vLLM's own FLASH_ATTN (vllm.v1.attention.backends.registry), so caches,
their layout, metadata, CUDA graphs, prefill and the drafter stay as they are. Only a batch whose
requests all have at most 1 + draft_tokens new tokens, and one of them more than one, goes through
our kernel: FlashAttention-2 gives such a request a single block a head, whatever its length.
"""

from functools import cache
from typing import Any

import torch
from vllm.config import VllmConfig, get_current_vllm_config_or_none
from vllm.v1.attention.backend import AttentionType
from vllm.v1.attention.backends.flash_attn import (
    FlashAttentionBackend,
    FlashAttentionImpl,
    FlashAttentionMetadata,
)

from qwen3090_ops.attention.scratch import Scratch
from qwen3090_ops.attention.split import MOST_ROWS, attend, shape_of
from qwen3090_ops.knobs import switch

KNOB = "split_attention"
MOST_TOKENS = 64
"""Query tokens of one request that the kernel is tested with."""


@cache
def scratch_of(requests: int, tokens: int, heads: int, kv_heads: int, dim: int) -> Scratch:
    """Return the memory for partial results: one for all layers of these sizes in this process."""
    device = torch.device("cuda", torch.cuda.current_device())
    return Scratch.make(
        requests=requests,
        tokens=tokens,
        heads=heads,
        kv_heads=kv_heads,
        dim=dim,
        multiprocessors=multiprocessors(),
        device=device,
    )


@cache
def multiprocessors() -> int:
    """Return how many multiprocessors the card in use has."""
    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


def verify_tokens(config: VllmConfig | None) -> int:
    """Return the most query tokens of a verify step, or 0 where there are no such steps for us."""
    speculative = config.speculative_config if config is not None else None
    if config is None or speculative is None:
        return 0
    if not switch(config.additional_config, KNOB, True):
        return 0
    tokens = 1 + int(speculative.num_speculative_tokens)
    return tokens if tokens <= MOST_TOKENS else 0


class SplitFlashAttentionImpl(FlashAttentionImpl):  # type: ignore[misc]
    """FlashAttention, and split attention for verify steps of full-attention layers in 16 bit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        config = get_current_vllm_config_or_none()
        self.scratch: Scratch | None = None
        tokens = verify_tokens(config)
        if tokens and self._fits():
            assert config is not None
            seats = config.scheduler_config.max_num_seqs
            self.scratch = scratch_of(
                seats, tokens, self.num_heads, self.num_kv_heads, self.head_size
            )
            self.shape = shape_of(tokens, self.num_queries_per_kv)

    @property
    def splits(self) -> bool:
        """Return whether verify steps of this layer are ours."""
        return self.scratch is not None

    def _fits(self) -> bool:
        """Return whether this layer is one that the kernel computes."""
        return (
            self.attn_type == AttentionType.DECODER
            and self.sliding_window == (-1, -1)
            and self.alibi_slopes is None
            and not self.logits_soft_cap
            and self.sinks is None
            and self.kv_cache_dtype in ("auto", "bfloat16", "float16")
            and self.head_size & (self.head_size - 1) == 0
            and self.num_heads % self.num_kv_heads == 0
            and self.num_queries_per_kv <= MOST_ROWS
            and self.dcp_world_size == 1
        )

    def _splits(self, metadata: FlashAttentionMetadata) -> bool:
        """Return whether a batch is one of verify steps; read from host values alone."""
        return (
            self.scratch is not None
            and 1 < metadata.max_query_len <= self.scratch.tokens
            and metadata.causal is True
            and not metadata.use_cascade
            and metadata.mm_prefix_query_range_tensor is None
            and metadata.rswa_prefix_lens is None
        )

    def forward(
        self,
        layer: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        attn_metadata: FlashAttentionMetadata | None,
        output: torch.Tensor,
        output_scale: torch.Tensor | None = None,
        output_block_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Write the attention of ``query`` into ``output``, like FlashAttentionImpl.forward.

        Args:
            layer, query, key, value, kv_cache, attn_metadata, output: as there.
            output_scale, output_block_scale: None, or FlashAttention's refusal.
        """
        plain = output_scale is None and output_block_scale is None
        if attn_metadata is None or not plain or not self._splits(attn_metadata):
            found: torch.Tensor = super().forward(
                layer,
                query,
                key,
                value,
                kv_cache,
                attn_metadata,
                output,
                output_scale,
                output_block_scale,
            )
            return found
        assert self.scratch is not None
        # (blocks, heads, block size, 2 dim) -> two views (blocks, block size, heads, dim)
        packed = kv_cache.transpose(1, 2)
        key_cache, value_cache = packed[..., : self.head_size], packed[..., self.head_size :]
        attend(
            query,
            key_cache,
            value_cache,
            attn_metadata.block_table,
            attn_metadata.seq_lens,
            attn_metadata.query_start_loc,
            output,
            scale=self.scale,
            tokens=attn_metadata.max_query_len,
            scratch=self.scratch,
            multiprocessors=multiprocessors(),
            shape=self.shape,
        )
        return output


class SplitFlashAttentionBackend(FlashAttentionBackend):  # type: ignore[misc]
    """vLLM's FLASH_ATTN with our implementation class."""

    @staticmethod
    def get_impl_cls() -> type[SplitFlashAttentionImpl]:
        """Return the class of a layer's attention."""
        return SplitFlashAttentionImpl
