"""What the self-test asks vLLM about prefix caching over block sizes: do the patches work?

Each answer comes from running a function of vLLM with stand-ins for an engine whose smallest
block is half a recurrent state's (patches 0302 to 0304); `support/blocks` of the tests has the
whole of it.
"""

from types import SimpleNamespace
from typing import Any

STATE = 32  # tokens of a state block
SMALLEST = 16  # tokens of the smallest block, as in cache_config.block_size

Answer = tuple[bool, str]


def chunk_ends() -> Answer:
    """Ask vLLM's scheduler where a chunk of a long prompt ends: on a state block (0302)."""
    from vllm.v1.core.sched.scheduler import Scheduler

    scheduler = SimpleNamespace(
        cache_config=SimpleNamespace(block_size=SMALLEST, mamba_block_size=STATE),
        mamba_block_size=STATE,
        use_eagle=False,
        vllm_config=SimpleNamespace(speculative_config=None),
        max_num_scheduled_tokens=60,
        scheduler_config=SimpleNamespace(long_prefill_token_threshold=0, max_num_batched_tokens=60),
        mamba_partial_cache_hit=False,
        hash_block_size=SMALLEST,
    )
    request = SimpleNamespace(
        num_computed_tokens=0, num_prompt_tokens=200, num_tokens=200, shared_prefix_boundary=0
    )
    end = Scheduler._mamba_block_aligned_split(scheduler, request, 60)
    return end % STATE == 0, f"blocks of {STATE} and {SMALLEST}: a chunk of 60 ends at {end}"


def resumes() -> Answer:
    """Ask vLLM's V2 model state which block holds the state of a request that resumes (0303)."""
    import torch
    from vllm.v1.worker.gpu.model_states.mamba_hybrid import MambaHybridModelState

    state: Any = object.__new__(MambaHybridModelState)
    state.rope_state = None
    state.cache_config = SimpleNamespace(block_size=SMALLEST, mamba_block_size=STATE)
    state.num_accepted_tokens_gpu = torch.ones(1, dtype=torch.int32)
    state._align_mode = True
    state._mamba_state_idx_gpu = torch.zeros(1, dtype=torch.int32)
    state.add_request(0, SimpleNamespace(num_computed_tokens=3 * STATE))
    block = int(state._mamba_state_idx_gpu[0])
    return block == 2, f"{3 * STATE} tokens from the cache: state in block {block} of 0, 1, 2"


def tails() -> Answer:
    """Ask vLLM's manager whether it files the state at a prompt's end a second time (0304)."""
    from vllm.v1.core.single_type_kv_cache_manager import MambaManager

    filed: list[int] = []

    def file(num_tokens: int, **_: Any) -> str:
        filed.append(num_tokens)
        return "hash"

    block = SimpleNamespace(is_null=False)
    manager = SimpleNamespace(
        block_pool=SimpleNamespace(hash_block_size=SMALLEST, cache_partial_block=file),
        block_size=STATE,
        req_to_blocks={"r": [block, block]},
        kv_cache_group_id=0,
        num_cached_block={},
        _partial_hit_reqs={},
        _producer_partial_tail_reqs={},
        _registered_partial_tails=set(),
    )
    request = SimpleNamespace(request_id="r", num_prompt_tokens=STATE + SMALLEST)
    for _ in range(2):
        MambaManager._cache_partial_tail_block(manager, request, request.num_prompt_tokens)
    return len(filed) == 1, f"the state of a prompt of {filed[0]} tokens is filed {len(filed)}x"
