"""What vLLM's V2 runner tells the DeltaNet layers of a step: its own code, on made-up batches.

The model state decides which rows are verified drafts, and the metadata builder which states a row
starts from; both are asked for a batch that is described by a few numbers a request.
"""

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One request of a step.

    Attributes:
        tokens: tokens of the step, drafts included.
        drafts: how many of them are drafts.
        before: tokens that are computed already.
        accepted: tokens that its last step emitted.
        prefilling: a part of the prompt is among the tokens.
    """

    tokens: int
    drafts: int = 0
    before: int = 10
    accepted: int = 1
    prefilling: bool = False


def metadata(
    rows: Sequence[Row], drafts: int, table: Any = None, *, graph: int = 0, builder: Any = None
) -> Any:
    """Return the GDNAttentionMetadata of a step.

    Args:
        rows: the requests, in batch order.
        drafts: drafts of a full verify step.
        table: int32 [requests, 1 + drafts] of state slots; row i has i * (1 + drafts) + 1 and on
            by default, 0 being vLLM's null slot.
        graph: requests of the full CUDA graph that is replayed, 0 for none.
        builder: one to use again, from ``make_builder``.
    """
    import numpy as np
    import torch
    from vllm.config import CUDAGraphMode
    from vllm.v1.worker.gpu.model_states.mamba_hybrid import MambaHybridModelState

    count, width = len(rows), drafts + 1
    padded = max(graph, count)
    if table is None:
        table = torch.arange(1, count * width + 1, dtype=torch.int32).view(count, width)
    table = torch.cat([table, table.new_zeros(padded - count, table.shape[1])])
    tokens = np.array([row.tokens for row in rows], dtype=np.int32)
    starts = np.full(padded + 1, tokens.sum(), dtype=np.int32)
    starts[0], starts[1 : count + 1] = 0, np.cumsum(tokens)
    lengths = torch.zeros(padded, dtype=torch.int32)
    lengths[:count] = torch.tensor([row.before + row.tokens for row in rows])
    given = np.array([row.drafts for row in rows], dtype=np.int32)
    total = padded * width if graph else int(tokens.sum())
    batch = SimpleNamespace(
        num_reqs=count,
        num_reqs_after_padding=padded,
        num_tokens=int(tokens.sum()),
        num_tokens_after_padding=total,
        num_scheduled_tokens=tokens,
        num_draft_tokens_per_req=given if given.any() else None,
        query_start_loc=torch.from_numpy(starts),
        query_start_loc_np=starts,
        seq_lens=lengths,
        seq_lens_cpu_upper_bound=lengths,
        dcp_local_seq_lens=None,
        is_prefilling_np=np.array([row.prefilling for row in rows]),
        idx_mapping=torch.arange(count),
        prompt_lens=None,
    )
    state = object.__new__(MambaHybridModelState)
    state.vllm_config = SimpleNamespace(num_speculative_tokens=drafts)
    state.max_model_len = 1 << 10
    state.num_accepted_tokens_gpu = torch.tensor([row.accepted for row in rows], dtype=torch.int32)
    builder = builder or make_builder(drafts, full_graphs=bool(graph))
    group = SimpleNamespace(get_metadata_builder=lambda _: builder, layer_names=["layer"])
    mode = CUDAGraphMode.FULL if graph else CUDAGraphMode.NONE
    found = state.prepare_attn(
        batch,
        mode,
        (table,),
        torch.zeros(1, total, dtype=torch.int64),
        [[group]],
        SimpleNamespace(kv_cache_groups=[None]),
    )
    return found["layer"]


@functools.cache
def starts_at_accepted(tokens: int, drafts: int, prefilling: bool, width: int) -> bool:
    """Return whether a request alone in its step starts from its last accepted state."""
    row = Row(tokens, drafts, accepted=2, prefilling=prefilling)
    found = metadata([row], width - 1)
    return found.spec_state_indices_tensor is not None


def make_builder(drafts: int, *, full_graphs: bool = False, requests: int = 8) -> Any:
    """Return vLLM's metadata builder for states that are not shared (mamba cache mode none)."""
    import torch
    from vllm.v1.attention.backends.gdn_attn import GDNAttentionMetadataBuilder
    from vllm.v1.kv_cache_interface import MambaSpec

    builder = object.__new__(GDNAttentionMetadataBuilder)
    rows = requests * (drafts + 1)
    builder.vllm_config = SimpleNamespace(cache_config=SimpleNamespace(mamba_cache_mode="none"))
    builder.kv_cache_spec = MambaSpec(
        block_size=64, shapes=((4, 4),), dtypes=(torch.float16,), num_speculative_blocks=drafts
    )
    builder.gdn_prefill_backend = "triton"
    builder.num_spec = drafts
    builder.use_spec_decode = drafts > 0
    builder.use_full_cuda_graph = full_graphs
    builder.decode_cudagraph_max_bs = rows
    for name, shape, kind in (
        ("spec_state_indices_tensor", (rows, drafts + 1), torch.int32),
        ("non_spec_state_indices_tensor", (rows,), torch.int32),
        ("spec_sequence_masks", (rows,), torch.bool),
        ("spec_token_indx", (rows * (drafts + 1),), torch.int32),
        ("non_spec_token_indx", (rows * (drafts + 1),), torch.int32),
        ("spec_query_start_loc", (rows + 1,), torch.int32),
        ("non_spec_query_start_loc", (rows + 1,), torch.int32),
        ("num_accepted_tokens", (rows,), torch.int32),
    ):
        setattr(builder, name, torch.full(shape, 77).to(kind))
    return builder
