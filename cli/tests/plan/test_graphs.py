"""Every decode step of every profile has a CUDA graph, and the memory that graphs take is counted.

What is captured and what a step gets is asked of vLLM's own code, without a GPU.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090.config import profile_names, resolve
from qwen3090.config.derive import decode_lengths
from qwen3090.plan import PlanInput
from qwen3090.plan.budget import UNPACKED_BYTES, budget, pool_estimate
from qwen3090.plan.graphs import (
    EXACT_SEATS,
    PUBLISHED,
    capture_sizes,
    compilation_sizes,
    decode_graphs,
    engine_sizes,
    graph_bytes,
    most_tokens,
    step_lengths,
)

GPU = [name for name in profile_names() if name != "demo"]
# Without drafts a request is one row, and up to 7 more rows cost a step next to nothing.
PADDED = ("batch", "batch-262k")


Lengths = tuple[int, ...]


def ranges(lengths: Lengths) -> list[tuple[int, int, int]]:
    return [(n, n, length - 1) for n, length in enumerate(lengths, 1)]


def manager_of(graph_sizes: Any, lengths: Lengths, *, query: int = 0, budgeted: int = 2048) -> Any:
    """Return vLLM's manager of graphs, as if they were captured.

    Args:
        graph_sizes: the setting.
        lengths: tokens of a request in a decode step of 1, 2, ... requests.
        query: tokens of a request that the manager is for, 0 for the most of a decode step.
        budgeted: the setting max_batched_tokens.
    """
    pytest.importorskip("vllm")
    from vllm.config import CUDAGraphMode
    from vllm.config.vllm import VllmConfig
    from vllm.v1.worker.gpu.cudagraph_utils import CudaGraphManager

    seats, drafts = len(lengths), max(lengths) - 1
    found = compilation_sizes(graph_sizes, lengths)
    dynamic = SimpleNamespace(
        uses_dynamic_speculative_decoding=lambda: True,
        num_speculative_tokens_per_batch_size=ranges(lengths),
    )
    compilation = SimpleNamespace(
        cudagraph_mode=CUDAGraphMode.FULL_AND_PIECEWISE,
        max_cudagraph_capture_size=found.get("max_cudagraph_capture_size"),
        cudagraph_capture_sizes=found.get("cudagraph_capture_sizes"),
        pass_config=SimpleNamespace(enable_sp=False),
        post_init_cudagraph_sizes=lambda: None,
    )
    config = SimpleNamespace(
        model_config=SimpleNamespace(enforce_eager=False),
        compilation_config=compilation,
        scheduler_config=SimpleNamespace(max_num_seqs=seats, max_num_batched_tokens=budgeted),
        parallel_config=SimpleNamespace(tensor_parallel_size=1),
        performance_mode="balanced",
        speculative_config=dynamic if len(set(lengths)) > 1 else None,
        num_speculative_tokens=drafts,
    )
    VllmConfig._set_cudagraph_sizes(config)
    manager = object.__new__(CudaGraphManager)
    vars(manager).update(
        vllm_config=config,
        compilation_config=compilation,
        cudagraph_mode=compilation.cudagraph_mode,
        max_num_reqs=seats,
        decode_query_len=query or drafts + 1,
        varlen_decode=False,
        lora_capture_cases=[0],
        _candidates={},
        _capture_descs={},
        _graphs_captured=True,
        _lora_dispatch_map={},
        _max_lora_case=0,
    )
    manager._init_candidates()
    return manager


def full(manager: Any, requests: int, length: int) -> int:
    """Return tokens of the full graph that vLLM gives to a decode step, 0 for none."""
    from vllm.config import CUDAGraphMode

    desc = manager.dispatch(requests, requests * length, length, 0)
    return desc.num_tokens if desc.cg_mode == CUDAGraphMode.FULL else 0


def steps(graph_sizes: Any, lengths: Lengths, budgeted: int = 2048) -> dict[int, int]:
    """Return tokens of the graph that vLLM gives to a decode step, by number of requests."""
    manager = manager_of(graph_sizes, lengths, budgeted=budgeted)
    return {n: full(manager, n, length) for n, length in enumerate(lengths, 1)}


@pytest.mark.parametrize("profile", GPU)
def test_cuda_graph_sizes_cover_every_decode_length_used(profile: str) -> None:
    config = resolve(profile, environ={}).config
    lengths = decode_lengths(config)
    for requests, tokens in steps(config.graph_sizes, lengths, config.max_batched_tokens).items():
        exact = requests * lengths[requests - 1]
        if profile in PADDED:
            assert exact <= tokens < exact + 8, (requests, tokens)
        else:
            assert tokens == exact, (requests, tokens)


@pytest.mark.parametrize(("seats", "drafts"), [(3, 4), (5, 6), (1, 4), (16, 2), (17, 4), (40, 4)])
def test_odd_seats_and_drafts_have_graphs_too(seats: int, drafts: int) -> None:
    step = drafts + 1
    for requests, tokens in steps(seats * step, step_lengths(seats, drafts)).items():
        wasted = tokens - requests * step
        assert tokens and wasted >= 0
        assert requests > EXACT_SEATS or wasted == 0
        assert wasted < 4 * step


@given(largest=st.integers(1, 512), seats=st.integers(1, 64), drafts=st.integers(0, 15))
def test_sizes_stay_below_the_largest_and_end_with_it(
    largest: int, seats: int, drafts: int
) -> None:
    sizes = capture_sizes(largest, step_lengths(seats, drafts))
    assert sizes == tuple(sorted(set(sizes)))
    assert sizes[-1] == largest
    assert drafts or set(engine_sizes(largest)) <= set(sizes)


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ((1, 2, 4, 8, 16, 24), (5,) * 5),
        ((1, 2, 4, 8, 16, 24, 32, 40), (5,) * 8),
        ((8, 64), (8,) * 8),
        ((7,), (8,) * 8),
        ((1, 2, 4, 8, 16), (1,) * 20),
        ((3, 9, 40), (6,) * 6),
        ((1, 2, 4, 8, 16, 24, 32), (5, 5, 5, 4, 4, 4, 4, 4)),
        ((4, 5, 10, 15), (5, 5, 4, 4)),
        ((2, 4, 30), (2, 6, 3, 5, 6)),
    ],
)
def test_which_steps_have_a_graph_is_what_vllm_dispatches(
    sizes: tuple[int, ...], lengths: Lengths
) -> None:
    given = {n: tokens for n, tokens in steps(sizes, lengths).items() if tokens}
    assert decode_graphs(sizes, lengths) == given


BY_BATCH = [(8, (4, 4, 4, 3)), (4, (4, 1)), (3, (2, 5, 1)), (16, (7, 4, 4, 4, 4, 2))]


@pytest.mark.parametrize(("seats", "drafts"), BY_BATCH)
def test_drafts_by_batch_have_graphs_of_every_length_that_a_batch_keeps(
    seats: int, drafts: tuple[int, ...]
) -> None:
    """A step verifies what the batch before it drafted, and that batch had as many or more."""
    lengths = step_lengths(seats, max(drafts), drafts)
    manager = manager_of(most_tokens(lengths), lengths)
    for requests in range(1, seats + 1):
        for before in range(requests, seats + 1):
            tokens = requests * lengths[before - 1]
            assert full(manager, requests, lengths[before - 1]) == tokens, (requests, before)


@pytest.mark.parametrize(("seats", "drafts"), BY_BATCH)
def test_a_mixed_batch_has_a_graph_of_every_size(seats: int, drafts: tuple[int, ...]) -> None:
    """No size is captured for equal requests alone, which would send others through none."""
    lengths = step_lengths(seats, max(drafts), drafts)
    manager = manager_of(most_tokens(lengths), lengths)
    from vllm.config import CUDAGraphMode

    for tokens in range(1, most_tokens(lengths) + 1):
        desc = manager.dispatch(min(2, tokens), tokens, None, 0)
        assert desc.cg_mode == CUDAGraphMode.PIECEWISE, tokens


@pytest.mark.parametrize(("seats", "drafts"), BY_BATCH)
def test_no_graph_drafts_for_numbers_of_requests_that_differ(
    seats: int, drafts: tuple[int, ...]
) -> None:
    """Of the draft graphs, one token a request, each is for one number of requests."""
    lengths = step_lengths(seats, max(drafts), drafts)
    manager = manager_of(most_tokens(lengths), lengths, query=1)
    assert [full(manager, n, 1) for n in range(1, seats + 1)] == list(range(1, seats + 1))


def test_a_named_list_is_taken_as_it_is() -> None:
    assert compilation_sizes((64, 8, 8), (8,) * 8) == {"cudagraph_capture_sizes": [8, 64]}


@pytest.mark.parametrize(
    ("drafts", "figure"), [(0, 7), (4, 7), (7, 7), (8, 15), (15, 15), (16, 18), (63, 20)]
)
def test_graph_memory_is_the_next_larger_published_figure(drafts: int, figure: int) -> None:
    assert graph_bytes(drafts) == PUBLISHED[figure]


def test_an_unpinned_pool_leaves_room_for_what_a_step_takes() -> None:
    def pool(**changes: Any) -> int:
        return pool_estimate(PlanInput(kv_bytes=None, **changes), [], 24 * 2**30)

    assert pool(eager=True) - pool() == PUBLISHED[7]
    assert pool(graph_bytes=10**9) - pool(graph_bytes=2 * 10**9) == 10**9
    assert pool() - pool(int8_activations="mlp") == 2048 * 17_412
    assert pool() - pool(kv_format="int4") == pool() - pool(kv_format="int8") == UNPACKED_BYTES
    assert pool() == pool(kv_format="fp8")


@pytest.mark.parametrize("profile", GPU)
def test_each_profile_fits_a_24_gb_card_with_its_graphs(profile: str) -> None:
    from qwen3090.plan.budget import CARD_BYTES, weight_items
    from qwen3090.serve.plan_gate import plan_input

    config = resolve(profile, environ={}).config
    inputs = plan_input(config)
    assert config.kv_bytes is not None
    weights = weight_items(inputs, config.variant, None, None)
    items = budget(inputs, weights, config.kv_bytes, CARD_BYTES)
    left = {item.name: item.size for item in items}
    assert left["graphs"] and (left["left"] or 0) >= 0, left


def test_the_engine_learns_the_reserve_where_it_sizes_the_pool() -> None:
    from qwen3090.serve.render import render

    def knob(*sets: str) -> Any:
        config = resolve("fast", sets=["model=/m", "drafter=/d", *sets], environ={}).require()
        words = render(config, {}).argv
        if "--additional-config" not in words:
            return None
        import json

        return json.loads(words[words.index("--additional-config") + 1])["qwen3090"].get(
            "graph_bytes"
        )

    assert knob() is None
    assert knob("kv_bytes=none") == PUBLISHED[7]
    assert knob("kv_bytes=none", "graph_bytes=2GiB") == 2 * 2**30
    assert knob("kv_bytes=none", "eager=true") is None
