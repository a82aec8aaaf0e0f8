"""vLLM's scheduler over a KV cache with groups of given block sizes, prefix caching in align mode.

No model is made: the scheduler sees the groups that the engine would hand it, with the block sizes
resolved by vLLM's own function and the smallest one in cache_config, as engine/core.py leaves it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 1,
    "vocab_size": 128,
    "max_position_embeddings": 1 << 17,
    "torch_dtype": "bfloat16",
}


@dataclass(frozen=True)
class Layout:
    """Block sizes and steps of an engine, in tokens.

    Attributes:
        state: block of the recurrent groups.
        attention: block of the groups that keep every token.
        window: block of the drafter's sliding-window group; 0 for none.
        reach: the sliding window itself.
        drafts: drafts a verify step, 0 without speculation.
        cut: let some, or all, of a request's drafts be refused before they are verified, as a
            grammar does when steps do not overlap.
        budget: the most tokens of one step.
        overlap: schedule a step before the last one's tokens are known.
        blocks: blocks of the pool.
        context: the most tokens of a request.
    """

    state: int = 32
    attention: int = 32
    window: int = 16
    reach: int = 40
    drafts: int = 0
    cut: bool = False
    budget: int = 80
    overlap: bool = False
    blocks: int = 2000
    context: int = 1 << 17


class _Drafter(SimpleNamespace):
    """What the scheduler asks of a DFlash2 speculative configuration."""

    method = "dflash"
    num_speculative_tokens_per_batch_size = None

    def use_eagle(self) -> bool:
        return True

    def use_dflash(self) -> bool:
        return True

    def use_multi_module_mtp(self) -> bool:
        return False


def groups(layout: Layout) -> list[Any]:
    """Return the KV-cache groups: two attention, two recurrent, and one window group if any."""
    import torch
    from vllm.v1.kv_cache_interface import (
        FullAttentionSpec,
        KVCacheGroupSpec,
        MambaSpec,
        SlidingWindowSpec,
    )

    heads: dict[str, Any] = {"num_kv_heads": 1, "head_size": 16, "dtype": torch.bfloat16}
    full = FullAttentionSpec(block_size=layout.attention, **heads)
    state = MambaSpec(
        block_size=layout.state,
        shapes=((4, 4),),
        dtypes=(torch.float16,),
        mamba_cache_mode="align",
        num_speculative_blocks=layout.drafts,
    )
    specs: list[Any] = [full, full, state, state]
    if layout.window:
        specs.append(
            SlidingWindowSpec(block_size=layout.window, sliding_window=layout.reach, **heads)
        )
    return [KVCacheGroupSpec([f"layer{i}"], spec) for i, spec in enumerate(specs)]


def make(layout: Layout, folder: Path) -> Any:
    """Return vLLM's scheduler for the layout, as the V2 runner uses it."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.core.kv_cache_utils import resolve_kv_cache_block_sizes
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import KVCacheConfig
    from vllm.v1.structured_output import StructuredOutputManager

    (folder / "config.json").write_text(json.dumps(CONFIG))
    config = EngineArgs(
        model=str(folder),
        skip_tokenizer_init=True,
        max_model_len=layout.context,
        max_num_seqs=8,
        max_num_batched_tokens=layout.budget,
        enable_prefix_caching=True,
        enforce_eager=True,
    ).create_engine_config()
    config.scheduler_config.async_scheduling = layout.overlap
    cache = config.cache_config
    kv = KVCacheConfig(
        num_blocks=layout.blocks, kv_cache_tensors=[], kv_cache_groups=groups(layout)
    )
    cache.num_gpu_blocks = layout.blocks
    cache.mamba_cache_mode = "align"
    cache.mamba_block_size = layout.state
    cache.block_size = min(group.kv_cache_spec.block_size for group in kv.kv_cache_groups)
    if layout.drafts:
        config.speculative_config = _Drafter(
            num_speculative_tokens=layout.drafts, max_num_new_slots_for_drafting=layout.drafts
        )
    block, unit = resolve_kv_cache_block_sizes(kv, config)
    scheduler = (AsyncScheduler if layout.overlap else Scheduler)(
        vllm_config=config,
        kv_cache_config=kv,
        structured_output_manager=StructuredOutputManager(config),
        log_stats=False,
        block_size=block,
        hash_block_size=unit,
    )
    scheduler.use_v2_model_runner = True
    return scheduler
