"""The recurrent states that an engine in this process has in its prefix cache."""

from typing import Any


def groups(llm: Any) -> list[Any]:
    """Return the KV-cache groups."""
    scheduler = llm.llm_engine.engine_core.engine_core.scheduler
    found: list[Any] = scheduler.kv_cache_config.kv_cache_groups
    return found


def state_groups(llm: Any) -> dict[int, Any]:
    """Return the KV-cache groups of recurrent layers by their number."""
    from vllm.v1.kv_cache_interface import MambaSpec

    found = {n: g for n, g in enumerate(groups(llm)) if isinstance(g.kv_cache_spec, MambaSpec)}
    if not found:
        raise SystemExit("this engine has no recurrent layers")
    return found


def wipe(llm: Any) -> int:
    """Set every cached recurrent state to zero; return how many blocks that were."""
    from vllm.v1.core.kv_cache_utils import get_group_id

    recurrent, blocks = state_groups(llm), 0
    pool = llm.llm_engine.engine_core.engine_core.scheduler.kv_cache_manager.block_pool
    layers = llm.llm_engine.vllm_config.compilation_config.static_forward_context
    for key, held in pool.cached_block_hash_to_block._cache.items():
        if (group := recurrent.get(get_group_id(key))) is None:
            continue
        for block in held.values() if isinstance(held, dict) else [held]:
            blocks += 1
            for name in group.layer_names:
                for state in layers[name].kv_cache:
                    state[block.block_id].zero_()
    return blocks
