"""The few largest of wide rows, against a stable sort."""

import pytest
import torch
from qwen3090_ops.sampling.top import top

INF = float("inf")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("vocab", "k"), [(16, 16), (700, 16), (9_001, 64), (9_001, 1)])
def test_equals_a_stable_sort(vocab: int, k: int, dtype: torch.dtype) -> None:
    torch.manual_seed(vocab)
    scores = torch.randn(3, vocab) * 4
    for x in (scores.to(dtype), scores.round().to(dtype), torch.zeros(1, vocab)):
        values, order = x.float().sort(dim=-1, descending=True, stable=True)
        found, columns = top(x, k)
        assert torch.equal(found, values[:, :k])
        assert torch.equal(columns, order[:, :k])


def test_neighbours_are_all_found() -> None:
    scores = torch.arange(9_000.0)[None]
    values, columns = top(scores, 20)
    assert columns[0].tolist() == list(range(8_999, 8_979, -1))
    assert values[0].tolist() == columns[0].tolist()


def test_nan_and_few_values() -> None:
    scores = torch.full((1, 300), -INF)
    scores[0, 7], scores[0, 9], scores[0, 200] = 1.0, float("nan"), 2.0
    values, columns = top(scores, 4)
    assert values[0].tolist() == [2.0, 1.0, -INF, -INF]
    assert columns[0].tolist() == [200, 7, 0, 0]


@pytest.mark.parametrize("k", [0, 65, 301])
def test_a_k_out_of_range_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"top-k of {k} of 300 columns"):
        top(torch.zeros(1, 300), k)
    assert top(torch.zeros(0, 300), 5)[0].shape == (0, 5)
