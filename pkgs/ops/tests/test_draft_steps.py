"""Drafts by the number of requests (patch 0244): what is drafted is what the scheduler verifies."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")
from qwen3090_ops.draft_steps import DraftSteps
from vllm.v1.spec_decode.dynamic.utils import build_dynamic_sd_schedule_lookup

RANGES = [(1, 3, 4), (4, 8, 3)]


def configured(ranges: Any, seats: int = 8, most: int = 4) -> DraftSteps:
    speculation = SimpleNamespace(
        num_speculative_tokens=most,
        num_speculative_tokens_per_batch_size=ranges,
        uses_dynamic_speculative_decoding=lambda: ranges is not None,
    )
    scheduler = SimpleNamespace(max_num_seqs=seats)
    return DraftSteps.configured(
        SimpleNamespace(speculative_config=speculation, scheduler_config=scheduler)
    )


def graphs(sizes: list[int], seats: int = 8) -> Any:
    """Return vLLM's manager of the graphs that draft one token for each request."""
    from vllm.config import CUDAGraphMode
    from vllm.v1.worker.gpu.cudagraph_utils import CudaGraphManager

    manager = object.__new__(CudaGraphManager)
    vars(manager).update(
        vllm_config=SimpleNamespace(
            num_speculative_tokens=4,
            speculative_config=SimpleNamespace(
                uses_dynamic_speculative_decoding=lambda: True,
                num_speculative_tokens_per_batch_size=RANGES,
            ),
        ),
        compilation_config=SimpleNamespace(
            cudagraph_capture_sizes=sizes, max_cudagraph_capture_size=max(sizes, default=0)
        ),
        cudagraph_mode=CUDAGraphMode.FULL_DECODE_ONLY if sizes else CUDAGraphMode.NONE,
        max_num_reqs=seats,
        decode_query_len=1,
        varlen_decode=False,
        lora_capture_cases=[0],
        _candidates={},
        _capture_descs={},
    )
    manager._init_candidates()
    return manager


def made(steps: DraftSteps, rows: Any = range(1, 9)) -> list[int]:
    return [steps.made(n) for n in rows]


def test_without_a_schedule_every_step_drafts_the_most() -> None:
    steps = configured(None)
    assert [steps.wanted(n) for n in range(1, 9)] == made(steps) == [4] * 8


def test_the_speculator_and_the_scheduler_look_up_the_same() -> None:
    steps = configured(RANGES)
    scheduler = build_dynamic_sd_schedule_lookup(RANGES, 8, 4)
    assert [steps.wanted(n) for n in range(1, 9)] == scheduler[1:] == [4, 4, 4, 3, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (list(range(1, 9)), [4, 4, 4, 3, 3, 3, 3, 3]),
        ([1, 2, 4, 8], [4, 4, 4, 4, 3, 3, 3, 3]),  # 3 requests draft in the graph of 4
        ([8], [4, 4, 4, 3, 3, 3, 3, 4]),
        ([2], [4, 4, 4, 3, 3, 3, 3, 3]),
        ([], [4, 4, 4, 3, 3, 3, 3, 3]),
    ],
)
def test_a_graph_drafts_for_all_that_share_it(sizes: list[int], expected: list[int]) -> None:
    steps = configured(RANGES)
    steps.share(graphs(sizes))
    assert made(steps) == expected
    assert [steps.wanted(n) for n in range(1, 9)] == [4, 4, 4, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("requests", [1, 3, 4, 8])
def test_the_loop_of_drafts_ends_there(fused: bool, requests: int) -> None:
    """vLLM's own loops, without a model: a step for each draft after the first."""
    import torch
    from vllm.config import CUDAGraphMode
    from vllm.v1.worker.gpu.spec_decode.mtp.speculator import MTPSpeculator

    speculator = object.__new__(MTPSpeculator)
    drafted: list[int] = []
    vars(speculator).update(
        num_speculative_steps=4,
        draft_steps=configured(RANGES),
        idx_mapping=torch.zeros(8),
        input_buffers=SimpleNamespace(positions=torch.zeros(8), query_start_loc=torch.zeros(9)),
        current_draft_step=torch.tensor(0),
        attn_groups=[],
        _generate_draft=lambda *_, **__: drafted.append(int(speculator.current_draft_step)),
    )
    if fused:
        speculator._generate_fused_drafts(requests, requests, None, None, None)
    else:
        desc = SimpleNamespace(cg_mode=CUDAGraphMode.NONE, num_tokens=requests, num_reqs=None)
        speculator._multi_step_decode(requests, True, desc, None, torch.zeros(8))
    assert drafted == ([1, 2, 3] if requests < 4 else [1, 2])
