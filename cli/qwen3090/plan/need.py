"""How many blocks a request takes, by vLLM 0.28.0's own bounds and in the steady state of decoding.

Mirrors ``max_memory_usage_bytes`` of the specs (v1/kv_cache_interface.py) and
``_estimate_max_model_len_from_groups`` (v1/core/kv_cache_utils.py).
"""

from qwen3090.plan.groups import Group
from qwen3090.plan.inputs import PlanInput
from qwen3090.plan.specs import ATTENTION, RECURRENT, LayerSpec, ceil_div


def blocks_at(spec: LayerSpec, length: int, inputs: PlanInput, in_flight: int) -> int:
    """Return the blocks that a request of ``length`` tokens takes in one group.

    Args:
        spec: the group's spec.
        length: tokens of the request.
        inputs: the settings (draft tokens, prefix caching).
        in_flight: tokens scheduled but not settled; a window layer still holds them.
    """
    if spec.kind == ATTENTION:
        return ceil_div(length, spec.block)
    if spec.kind == RECURRENT:
        return (2 if inputs.prefix_cache else 1) + inputs.k
    return ceil_div(min(spec.window - 1 + in_flight, length), spec.block) + 1


def blocks_needed(groups: tuple[Group, ...], length: int, inputs: PlanInput) -> int:
    """Return vLLM's bound for one request of ``length`` tokens, prefill included."""
    tokens = inputs.in_flight_tokens
    return sum(blocks_at(g.spec, length, inputs, tokens) for g in groups)


def blocks_prefilling(groups: tuple[Group, ...], length: int, inputs: PlanInput) -> int:
    """Return the blocks that one request of ``length`` tokens really peaks at.

    vLLM's bound forgets that with a step in flight a third state block is kept while the next
    chunk of a prompt is scheduled, and the slots of the drafts beyond ``length``.
    """
    third = inputs.prefix_cache and inputs.async_scheduling
    extra = sum(third and g.spec.kind == RECURRENT for g in groups)
    return max(
        blocks_needed(groups, length, inputs) + extra, blocks_decoding(groups, length, inputs)
    )


def blocks_decoding(groups: tuple[Group, ...], length: int, inputs: PlanInput) -> int:
    """Return the blocks of a request that decodes up to ``length`` tokens.

    Every step in flight holds slots for a token and its drafts, and the drafter's lookahead.
    """
    tokens = inputs.batches_in_flight * (1 + inputs.k) + inputs.lookahead_tokens
    ahead = min(length + tokens, inputs.context)
    return sum(blocks_at(g.spec, ahead, inputs, tokens) for g in groups)


def longest_that_fits(groups: tuple[Group, ...], blocks: int, inputs: PlanInput) -> int:
    """Return the longest request (tokens, at most ``context``) that ``blocks`` hold; 0 for none."""
    low, high = 0, inputs.context
    while low < high:
        middle = (low + high + 1) // 2
        if blocks_needed(groups, middle, inputs) <= blocks:
            low = middle
        else:
            high = middle - 1
    return low


def resident_seats(groups: tuple[Group, ...], blocks: int, length: int, inputs: PlanInput) -> int:
    """Return how many requests of ``length`` tokens the pool holds at once without preemption.

    The last one may still be prefilling while the others decode. One block of
    the pool is vLLM's null block. Never more than ``seats``.
    """
    decoding = blocks_decoding(groups, length, inputs)
    free = blocks - 1 - blocks_prefilling(groups, length, inputs)
    return min(inputs.seats, 1 + free // decoding) if free >= 0 else 0
