"""TRITON_ATTN with our kernels over int8 and int4 caches; everything else is vLLM's.

Registered in place of vLLM's class (vllm.v1.attention.backends.registry). Inherited from vLLM
0.28.0's v1/attention/backends/triton_attn.py: the cache's layout, stride order and the store
kernels (do_kv_cache_update, which runs before forward: model_executor/layers/attention/
attention.py), customize_spec, the name, and supports_draft_decode_metadata_update, without which
MTP builds its metadata anew for each draft (v1/worker/gpu/spec_decode/autoregressive/
speculator.py). Nothing here waits for the device: what is decided on the host is in batches.py.

Ours are the layers of full attention over an int8 or int4 cache: the target's, and MTP's, whose
first draft reuses the target's metadata and whose later ones have a token a request. DFlash2's
drafter has windows and sees both ways: vLLM's kernels.
"""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import torch
from vllm.config import VllmConfig, get_current_vllm_config_or_none
from vllm.v1.attention.backend import (
    AttentionCGSupport,
    AttentionType,
    CommonAttentionMetadata,
)
from vllm.v1.attention.backends.triton_attn import (
    TritonAttentionBackend,
    TritonAttentionImpl,
    TritonAttentionMetadata,
    TritonAttentionMetadataBuilder,
)
from vllm.v1.kv_cache_interface import AttentionSpec

from qwen3090_ops.attention.backend import KNOB, MOST_TOKENS, multiprocessors, scratch_of
from qwen3090_ops.attention.batches import Batch, arrange
from qwen3090_ops.attention.flash import flash_attention
from qwen3090_ops.attention.formats import FORMATS, rotate, words
from qwen3090_ops.attention.prefill import CONTEXT_TOKENS, Context, prefill
from qwen3090_ops.attention.quantized import MOST_ROWS, attend_words
from qwen3090_ops.attention.unpack import unpack
from qwen3090_ops.knobs import switch


def step_tokens(config: VllmConfig | None) -> int:
    """Return the most new tokens of a decoding request: 1 without speculation.

    0: the knob is off, or they are more than the kernel is tested with.
    """
    if config is None or not switch(config.additional_config, KNOB, True):
        return 0
    speculative = config.speculative_config
    tokens = 1 + (int(speculative.num_speculative_tokens) if speculative is not None else 0)
    return tokens if tokens <= MOST_TOKENS else 0


def widths(config: VllmConfig) -> tuple[int, ...]:
    """Return the new tokens of a row that graphs are captured for, ascending; () without ours.

    A verify step's, those of fewer drafts where drafts depend on the batch, and 1: MTP's drafts.
    """
    most = step_tokens(config)
    if not most:
        return ()
    by_batch = getattr(config.speculative_config, "num_speculative_tokens_per_batch_size", None)
    fewer = (1 + drafts for _, _, drafts in by_batch or ())
    return tuple(sorted({1, most, *fewer}))


@cache
def context_of(kv_heads: int, dim: int, dtype: torch.dtype) -> Context:
    """Return the room for unpacked context: one for all layers of these sizes in this process."""
    device = torch.device("cuda", torch.cuda.current_device())
    return Context.make(kv_heads, dim, dtype, device, CONTEXT_TOKENS)


@dataclass
class SplitTritonMetadata(TritonAttentionMetadata):  # type: ignore[misc]
    """vLLM's metadata, and what computes which row; without ``batch``, vLLM's kernel all."""

    batch: Batch | None = None


class SplitTritonMetadataBuilder(TritonAttentionMetadataBuilder):  # type: ignore[misc]
    """vLLM's builder, which also arranges the batch for our kernels."""

    def __init__(
        self,
        kv_cache_spec: AttentionSpec,
        layer_names: list[str],
        vllm_config: VllmConfig,
        device: torch.device,
    ) -> None:
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)
        self.widths = widths(vllm_config)

    @classmethod
    def get_cudagraph_support(
        cls, vllm_config: VllmConfig, kv_cache_spec: AttentionSpec
    ) -> AttentionCGSupport:
        """Return UNIFORM_BATCH where our kernels run: a graph of mixed rows fixes their kinds."""
        mode = kv_cache_spec.kv_quant_mode.name.lower()
        if mode in FORMATS and step_tokens(vllm_config):
            return AttentionCGSupport.UNIFORM_BATCH
        return super().get_cudagraph_support(vllm_config, kv_cache_spec)

    def build(
        self,
        common_prefix_len: int,
        common_attn_metadata: CommonAttentionMetadata,
        fast_build: bool = False,
    ) -> SplitTritonMetadata:
        """Return the metadata of a step, like vLLM's; ``batch`` only for causal attention."""
        common = common_attn_metadata
        plain = super().build(common_prefix_len, common, fast_build)
        batch = None
        if self.widths and common.causal is True:
            rows = common.num_reqs
            lengths = common.seq_lens_cpu_upper_bound
            batch = arrange(
                common.query_start_loc_cpu[: rows + 1],
                lengths[:rows] if lengths is not None else None,
                common.query_start_loc,
                longest=common.max_query_len,
                widths=self.widths,
                room=CONTEXT_TOKENS,
            )
        values = {field.name: getattr(plain, field.name) for field in fields(plain)}
        return SplitTritonMetadata(**values, batch=batch)


class SplitTritonImpl(TritonAttentionImpl):  # type: ignore[misc]
    """vLLM's Triton attention, and ours for full attention over an int8 or int4 cache."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        config = get_current_vllm_config_or_none()
        tokens = step_tokens(config)
        flash = flash_attention(self.head_size, self.scale)
        self.splits = bool(tokens) and self._fits(config) and flash is not None
        self._bound: tuple[torch.Tensor, torch.Tensor] | None = None
        self._warm = False
        if not self.splits:
            return
        assert config is not None and flash is not None
        self.form = FORMATS[self.kv_cache_dtype]
        self.flash = flash
        heads = self.num_heads, self.num_kv_heads, self.head_size
        self.scratch = scratch_of(config.scheduler_config.max_num_seqs, tokens, *heads)
        self.context = context_of(self.num_kv_heads, self.head_size, config.model_config.dtype)

    def _fits(self, config: VllmConfig | None) -> bool:
        """Return whether this layer is one that our kernels compute."""
        return (
            config is not None
            and config.model_config.dtype in (torch.bfloat16, torch.float16)
            and config.parallel_config.decode_context_parallel_size == 1
            and self.attn_type == AttentionType.DECODER
            and self.kv_cache_dtype in FORMATS
            and self.kv_sharing_target_layer_name is None
            and self.sliding_window == (-1, -1)
            and self.chunk_lookback == -1
            and self.alibi_slopes is None
            and not self.logits_soft_cap
            and self.sinks is None
            and self.head_size & (self.head_size - 1) == 0
            and self.head_size >= 32
            and self.num_heads % self.num_kv_heads == 0
            and self.num_queries_per_kv <= MOST_ROWS
        )

    def _words(self, kv_cache: torch.Tensor) -> torch.Tensor:
        """Return the cache as words; the view is kept, as vLLM keeps those of the scales."""
        if self._bound is None or self._bound[0] is not kv_cache:
            self._bound = kv_cache, words(kv_cache)
        return self._bound[1]

    def forward(
        self,
        layer: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        attn_metadata: SplitTritonMetadata | None,
        output: torch.Tensor,
        output_scale: torch.Tensor | None = None,
        output_block_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Write the attention of ``query`` into ``output``, like TritonAttentionImpl.forward.

        Without metadata (vLLM's memory profile) the output is zeros, as there.

        Args:
            layer, query, key, value, kv_cache, attn_metadata, output: as there.
            output_scale, output_block_scale: None, or vLLM's kernel computes all.
        """
        ours = (
            self.splits
            and attn_metadata is not None
            and attn_metadata.batch is not None
            and attn_metadata.mm_prefix_range is None
            and attn_metadata.rswa_prefix_lens is None
            and output_scale is None
            and output_block_scale is None
        )
        if not ours:
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
        assert attn_metadata is not None and attn_metadata.batch is not None
        cache = self._words(kv_cache)
        table = attn_metadata.block_table
        for run in attn_metadata.batch.runs:
            # Only these tokens: an int4 cache's queries are turned in the output's place.
            rows, tokens = slice(run.first, run.end), slice(run.begin, run.stop)
            attend_words(
                query[tokens],
                cache,
                table[rows],
                attn_metadata.seq_lens[rows],
                run.starts,
                output[tokens],
                scale=self.scale,
                tokens=run.tokens,
                scratch=self.scratch,
                multiprocessors=multiprocessors(),
                format=self.form,
            )
        for prompt in attn_metadata.batch.prompts:
            self._warm_up(cache, table)
            prefill(
                query,
                key,
                value,
                cache,
                table,
                output,
                prompt=prompt,
                context=self.context,
                flash=self.flash,
                form=self.form,
            )
        return output

    def _warm_up(self, cache: torch.Tensor, table: torch.Tensor) -> None:
        """Compile what a first chunk does not run yet: vLLM's warm-up has no longer prompts."""
        if self._warm:
            return
        self._warm = True
        unpack(cache, table, 0, 0, 0, self.context.keys, self.context.values, self.form)
        if self.form.rotated:
            rotate(self.context.keys[:1])


class SplitTritonBackend(TritonAttentionBackend):  # type: ignore[misc]
    """vLLM's TRITON_ATTN with our builder and implementation class."""

    @staticmethod
    def get_impl_cls() -> type[SplitTritonImpl]:
        """Return the class of a layer's attention."""
        return SplitTritonImpl

    @staticmethod
    def get_builder_cls() -> type[SplitTritonMetadataBuilder]:
        """Return the class that makes a step's metadata."""
        return SplitTritonMetadataBuilder
