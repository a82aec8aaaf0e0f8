"""The numpy mirror behind `test_lossless.py` draws what vLLM's kernels draw, token for token."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from draws.cells import DEPTH, TOKENS, Cell, cut_rows
from draws.chains import BOTH_CUT, PLAIN, VOCAB, make
from draws.kernels import Kernels
from draws.loop import START, generate, seeds_of
from draws.mirror import Mirror
from qwen3090_ops.sampling.truncate import truncate

REQUESTS = 6
CELLS = [
    Cell(1.3, PLAIN, selector=False, block=True),
    Cell(1.3, PLAIN, selector=True, block=False),
    Cell(0.7, BOTH_CUT, selector=False, block=False),
    Cell(0.7, BOTH_CUT, selector=True, block=True),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_mirror_draws_what_the_kernels_draw(cell: Cell) -> None:
    chain = make(DEPTH, cell.temperature, cell.cut, cut_rows)
    seeds = seeds_of(REQUESTS, 2)
    mirror = Mirror(chain, seeds, cell.selector, cell.block)
    kernels = Kernels(chain, seeds, cell.selector, cell.block, "cpu")
    found, want = (generate(sampler, REQUESTS, TOKENS) for sampler in (mirror, kernels))
    np.testing.assert_array_equal(found[0], want[0])
    assert found[1:] == want[1:]
    np.testing.assert_array_equal(mirror.draft_logits, kernels.draft_logits.numpy())


@pytest.mark.parametrize("block", [False, True])
def test_greedy_rows_and_placeholders_in_a_mixed_batch(block: bool) -> None:
    """Greedy rows follow the argmax; a draft of -1 ends its block; neighbours do not notice."""
    from vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils import rejection_sample

    chain = make(DEPTH, 1.0, PLAIN, cut_rows)
    seeds, rows = seeds_of(3, 4), np.arange(3)
    kernels = Kernels(chain, seeds, False, block, "cpu")
    last, position = np.array([1, 2, 3]), np.full(3, START)
    drafts = kernels.draft(rows, last, position)
    alone = kernels.verify(rows[2:], last[2:], position[2:], drafts[2:])
    best = chain.target.argmax(-1)
    drafts[0] = [best[1], best[best[1]], (best[best[best[1]]] + 1) % VOCAB]
    drafts[1, 0] = -1
    kernels.temperature[0] = 0

    def verify() -> tuple[Any, Any]:
        width = DEPTH + 1
        before = torch.from_numpy(np.concatenate([last[:, None], drafts], axis=1).ravel())
        steps = torch.arange(width)
        index = torch.arange(3, dtype=torch.int32)
        return rejection_sample(
            kernels.target[before.clamp(min=0)],
            kernels.draft_logits,
            before,
            torch.arange(4, dtype=torch.int32) * width,
            (torch.from_numpy(position)[:, None] + steps).flatten(),
            index,
            index.repeat_interleave(width),
            steps.to(torch.int32).repeat(3),
            kernels.temperature,
            kernels.seeds,
            DEPTH,
            use_block_verification=block,
        )

    sampled, count = verify()
    assert count.tolist()[:2] == [3, 1]
    assert sampled[0, :3].tolist() == [best[1], best[best[1]], best[best[best[1]]]]
    assert 0 <= int(sampled[1, 0]) < VOCAB
    assert int(count[2]) == int(alone[1][0])
    assert sampled[2, : count[2]].tolist() == alone[0][0, : count[2]].tolist()
    again = verify()
    assert torch.equal(again[1], count)
    for row, n in enumerate(count.tolist()):
        assert torch.equal(again[0][row, :n], sampled[row, :n])


def test_the_cut_of_the_tables_is_the_engines() -> None:
    """The toy tables are cut by vLLM's sort; the engine cuts small top-k without one."""
    rows = torch.randn(40, VOCAB, generator=torch.Generator().manual_seed(3)) / 0.7
    k, p = torch.full((40,), BOTH_CUT.top_k, dtype=torch.int32), torch.full((40,), BOTH_CUT.top_p)
    assert torch.equal(truncate(rows.clone(), k, p), cut_rows(rows, BOTH_CUT.top_k, BOTH_CUT.top_p))
