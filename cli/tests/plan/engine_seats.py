"""Fills vLLM's KV-cache manager with requests: are as many resident as the plan says?

Part of the probe: prefill in chunks beside decoding requests, slots asked for as the scheduler
does, with the tokens of one step in flight when scheduling is asynchronous.
"""

import random
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.request import Request


class Resident:
    """One request and how far it is settled."""

    def __init__(self, name: str, prompt: int, length: int, hasher: Any) -> None:
        tokens = [random.randrange(1000) for _ in range(prompt)]
        params = SamplingParams(max_tokens=length)
        self.request = Request(name, tokens, params, None, block_hasher=hasher)
        self.length = length
        self.settled = 0


def keep_resident(
    cfg: Any, pool: Any, case: dict[str, Any], scheduler_block: int, hash_block: int
) -> int:
    """Return how many requests of ``case["length"]`` tokens got all their slots, one by one.

    Stops at ``case["resident"]`` requests, or at the first slot that is refused.
    """
    random.seed(0)
    caching = cfg.cache_config.enable_prefix_caching
    init_none_hash(sha256)
    manager = KVCacheManager(
        pool,
        max_model_len=case["context"],
        scheduler_block_size=scheduler_block,
        hash_block_size=hash_block,
        max_in_flight_tokens=cfg.max_in_flight_tokens,
        enable_caching=caching,
        use_eagle=bool(case["k"]),
        num_prefill_lookahead=min(case["k"], 1),
    )
    hasher = get_request_block_hasher(hash_block, sha256) if caching else None
    align = cfg.cache_config.block_size if caching else 0
    length, verify = case["length"], 1 + case["k"]
    running: list[Resident] = []
    for number in range(case["resident"]):
        prompt = max(1, length - 40 * verify)
        new = Resident(str(number), prompt, length, hasher)
        previous = 0
        while new.settled < prompt:
            manager.new_step_starts()
            chunk = _chunk(new.settled, prompt, case["max_batched_tokens"], align)
            new.request.num_computed_tokens = new.settled
            new.request.num_in_flight_tokens = previous if case["async_scheduling"] else 0
            first = new.settled == 0
            slots = manager.allocate_slots(
                new.request,
                chunk,
                num_lookahead_tokens=case["lookahead"],
                full_sequence_must_fit=first,
            )
            if slots is None or not _decode_all(manager, running, case, verify):
                return number
            new.settled += chunk
            previous = chunk
        running.append(new)
    for _ in range(80):
        manager.new_step_starts()
        if not _decode_all(manager, running, case, verify):
            return len(running) - 1
    return len(running)


def _chunk(start: int, prompt: int, limit: int, align: int) -> int:
    """Return the tokens of the next prefill step; they end at block ends in align mode."""
    end = min(start + limit, prompt)
    if align:
        last = max(prompt // align * align - align, 0)
        if end < prompt and end // align * align > start:
            end = end // align * align
        if start < last < end:
            end = last
    return end - start


def _decode_all(
    manager: KVCacheManager, running: list[Resident], case: dict[str, Any], verify: int
) -> bool:
    """Let every request verify its drafts once; return whether all got their slots."""
    for item in running:
        if item.settled >= item.length:
            continue
        flying = verify if case["async_scheduling"] else 0
        request = item.request
        request.num_computed_tokens = min(item.settled + flying, case["context"] - verify)
        request.num_in_flight_tokens = min(flying, request.num_computed_tokens)
        if manager.allocate_slots(request, verify, num_lookahead_tokens=case["lookahead"]) is None:
            return False
        accepted = min(random.randint(1, verify), item.length - item.settled)
        request.append_output_token_ids([random.randrange(1000) for _ in range(accepted)])
        item.settled += accepted
    return True
