"""vLLM's walk over the DFlash2 selector's candidates, as patched: truncated and finite scores."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from qwen3090_ops.sampling.candidates import finite_scores, truncate_candidates
from qwen3090_ops.sampling.drafts import DraftTruncation
from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p_pytorch
from vllm.v1.worker.gpu.spec_decode.dflash2.speculator import DFlash2Speculator

INF, NAN = float("inf"), float("nan")
WIDTH, STEPS, VOCAB = 16, 3, 200


@triton.jit
def _row(scores, found, count, k, p, temperature, TRUNCATE: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, N)
    mask = place < count
    x = finite_scores(tl.load(scores + place), mask)
    if TRUNCATE:
        x = truncate_candidates(x, mask, k, p, temperature)
    tl.store(found + place, x)


def row(scores: list[float], k: int = 0, p: float = 1.0, heat: float = 1.0) -> list[float]:
    """Run both helpers on one row, padded to 16 with values that must not count."""
    padded = torch.tensor(scores + [99.0] * (WIDTH - len(scores)))
    found = torch.empty(WIDTH)
    _row[(1,)](padded, found, len(scores), k, p, heat, TRUNCATE=k != -9, N=WIDTH)
    assert bool((found[len(scores) :] == -INF).all())
    return found[: len(scores)].tolist()


@pytest.mark.parametrize("heat", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("p", [1.0, 0.9, 0.5, 1e-6])
@pytest.mark.parametrize("k", [1, 3, 16, 248_320])
def test_a_row_keeps_what_the_targets_truncation_keeps(k: int, p: float, heat: float) -> None:
    torch.manual_seed(k)
    for scores in (torch.randn(16) * 3, torch.randn(13), torch.randn(16).round()):
        kept = apply_top_k_top_p_pytorch(
            scores[None] / heat, torch.tensor([min(k, len(scores))]), torch.tensor([p])
        )
        expected = scores.masked_fill(kept[0] == -INF, -INF)
        assert row(scores.tolist(), k, p, heat) == expected.tolist()


def test_a_greedy_row_has_no_nucleus() -> None:
    assert row([1.0, 2.0, 3.0], 2, 0.1, heat=0.0) == [-INF, 2.0, 3.0]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1.0, NAN, -INF, 2.0], [1.0, -1e30, -1e30, 2.0]),
        ([NAN, NAN], [0.0, 0.0]),
        ([-INF, -INF, NAN], [0.0, 0.0, 0.0]),
        ([INF, 1.0, INF, NAN], [0.0, -1e30, 0.0, -2e30]),
        ([3.5, -2.25], [3.5, -2.25]),
    ],
)
def test_scores_become_finite_and_keep_their_order(
    scores: list[float], expected: list[float]
) -> None:
    assert row(scores, k=-9) == pytest.approx(expected, rel=1e-6)


def walk(
    scores: torch.Tensor, truncation: Any, heat: list[float], rows: list[int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Walk and cache; give tokens [rows, steps], cached logits [states, steps, vocab], ids."""
    count = len(rows)
    ids = torch.stack([torch.randperm(VOCAB)[:WIDTH] for _ in range(count * STEPS)])
    ids = ids.view(count, STEPS, WIDTH)
    states = torch.tensor(rows, dtype=torch.int32).repeat_interleave(STEPS)
    speculator = SimpleNamespace(
        selector_top_k=WIDTH,
        num_speculative_steps=STEPS,
        truncation=truncation,
        sample_pos=torch.arange(count * STEPS) + 5,
        sample_idx_mapping=states,
        temperature=torch.tensor(heat),
        seeds=torch.arange(len(heat)),
        draft_tokens=torch.zeros(count, STEPS, dtype=torch.int64),
        _selector_scores=torch.zeros(count, STEPS, WIDTH),
        _cached_candidate_ids=torch.zeros(len(heat), STEPS, WIDTH, dtype=torch.int64),
        draft_logits=torch.full((len(heat), STEPS, VOCAB), -INF),
        use_fp64_gumbel=False,
    )
    DFlash2Speculator._sample_path(speculator, ids, scores, count)
    DFlash2Speculator._cache_draft_logits(speculator, ids, count * STEPS)
    return speculator.draft_tokens, speculator.draft_logits, ids


def parameters(k: list[int], p: list[float]) -> DraftTruncation:
    found = DraftTruncation(len(k), torch.device("cpu"))
    found.top_k.copy_(torch.tensor(k))
    found.top_p.copy_(torch.tensor(p))
    return found


def test_the_cache_holds_what_was_sampled_from() -> None:
    torch.manual_seed(3)
    scores = torch.randn(3, STEPS, WIDTH, WIDTH) * 2
    scores[2, 1, :, 4] = NAN
    tokens, cache, ids = walk(
        scores, parameters([4, 20, 9], [0.8, 1.0, 0.6]), [0.7, 1.0, 1.5], [2, 0, 1]
    )
    for row, (state, k, p, heat) in enumerate([(2, 9, 0.6, 1.5), (0, 4, 0.8, 0.7), (1, 16, 1, 1)]):
        previous = 0
        for step in range(STEPS):
            line = scores[row, step, previous].nan_to_num(-1e30)
            kept = apply_top_k_top_p_pytorch(
                line[None] / heat, torch.tensor([k]), torch.tensor([float(p)])
            )
            expected = torch.full((VOCAB,), -INF)
            expected[ids[row, step]] = line.masked_fill(kept[0] == -INF, -INF)
            assert torch.equal(cache[state, step], expected)
            token = int(tokens[row, step])
            assert expected[token] > -INF
            previous = ids[row, step].tolist().index(token)


def test_without_truncation_every_candidate_stays() -> None:
    torch.manual_seed(4)
    scores = torch.randn(1, STEPS, WIDTH, WIDTH)
    _, cache, ids = walk(scores, None, [1.0], [0])
    assert int((cache > -INF).sum()) == STEPS * WIDTH
    assert torch.equal(cache[0, 0, ids[0, 0]], scores[0, 0, 0])


def test_a_padded_row_writes_nothing() -> None:
    tokens, cache, _ = walk(
        torch.randn(1, STEPS, WIDTH, WIDTH), parameters([4], [0.9]), [1.0], [-1]
    )
    assert not tokens.any() and bool((cache == -INF).all())
