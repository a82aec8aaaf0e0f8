"""Every decode step of every profile has a CUDA graph, and the memory that graphs take is counted.

What is captured and what a step gets is asked of vLLM's own code, without a GPU.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090.config import profile_names, resolve
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
)

GPU = [name for name in profile_names() if name != "demo"]
# Without drafts a request is one row, and up to 7 more rows cost a step next to nothing.
PADDED = ("batch", "batch-262k")


def steps(graph_sizes: Any, seats: int, drafts: int, budgeted: int = 2048) -> dict[int, int]:
    """Return tokens of the graph that vLLM gives to a decode step, by number of requests."""
    pytest.importorskip("vllm")
    from vllm.config import CUDAGraphMode
    from vllm.config.vllm import VllmConfig
    from vllm.v1.worker.gpu.cudagraph_utils import CudaGraphManager

    found = compilation_sizes(graph_sizes, seats, drafts)
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
        speculative_config=None,
        num_speculative_tokens=drafts,
    )
    VllmConfig._set_cudagraph_sizes(config)
    manager = object.__new__(CudaGraphManager)
    vars(manager).update(
        vllm_config=config,
        compilation_config=compilation,
        cudagraph_mode=compilation.cudagraph_mode,
        max_num_reqs=seats,
        decode_query_len=drafts + 1,
        varlen_decode=False,
        lora_capture_cases=[0],
        _candidates={},
        _capture_descs={},
        _graphs_captured=True,
        _lora_dispatch_map={},
        _max_lora_case=0,
    )
    manager._init_candidates()
    given: dict[int, int] = {}
    for requests in range(1, seats + 1):
        desc = manager.dispatch(requests, requests * (drafts + 1), drafts + 1, 0)
        given[requests] = desc.num_tokens if desc.cg_mode == CUDAGraphMode.FULL else 0
    return given


@pytest.mark.parametrize("profile", GPU)
def test_cuda_graph_sizes_cover_every_decode_length_used(profile: str) -> None:
    config = resolve(profile, environ={}).config
    drafts = config.draft_tokens or 0
    for requests, tokens in steps(
        config.graph_sizes, config.seats, drafts, config.max_batched_tokens
    ).items():
        exact = requests * (drafts + 1)
        if profile in PADDED:
            assert exact <= tokens < exact + 8, (requests, tokens)
        else:
            assert tokens == exact, (requests, tokens)


@pytest.mark.parametrize(("seats", "drafts"), [(3, 4), (5, 6), (1, 4), (16, 2), (17, 4), (40, 4)])
def test_odd_seats_and_drafts_have_graphs_too(seats: int, drafts: int) -> None:
    step = drafts + 1
    for requests, tokens in steps(seats * step, seats, drafts).items():
        wasted = tokens - requests * step
        assert tokens and wasted >= 0
        assert requests > EXACT_SEATS or wasted == 0
        assert wasted < 4 * step


@given(largest=st.integers(1, 512), seats=st.integers(1, 64), drafts=st.integers(0, 15))
def test_sizes_stay_below_the_largest_and_end_with_it(
    largest: int, seats: int, drafts: int
) -> None:
    sizes = capture_sizes(largest, seats, drafts)
    assert sizes == tuple(sorted(set(sizes)))
    assert sizes[-1] == largest
    assert drafts or set(engine_sizes(largest)) <= set(sizes)


@pytest.mark.parametrize(
    ("sizes", "seats", "drafts"),
    [
        ((1, 2, 4, 8, 16, 24), 5, 4),
        ((1, 2, 4, 8, 16, 24, 32, 40), 8, 4),
        ((8, 64), 8, 7),
        ((7,), 8, 7),
        ((1, 2, 4, 8, 16), 20, 0),
        ((3, 9, 40), 6, 5),
    ],
)
def test_which_steps_have_a_graph_is_what_vllm_dispatches(
    sizes: tuple[int, ...], seats: int, drafts: int
) -> None:
    given = {n: tokens for n, tokens in steps(sizes, seats, drafts).items() if tokens}
    assert decode_graphs(sizes, seats, drafts) == given


def test_a_named_list_is_taken_as_it_is() -> None:
    assert compilation_sizes((64, 8, 8), 8, 7) == {"cudagraph_capture_sizes": [8, 64]}


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
