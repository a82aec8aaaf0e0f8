"""Compares truncation without sorting with vLLM's sort, on what can go wrong."""

import pytest
import torch
from qwen3090_ops.sampling.truncate import truncate

INF = float("inf")


def sorted_reference(logits: torch.Tensor, k: torch.Tensor, p: torch.Tensor | None) -> torch.Tensor:
    """vLLM's `apply_top_k_top_p_pytorch`, with the stable order that its CUDA sort has."""
    values, order = logits.float().sort(dim=-1, stable=True)
    bound = values.gather(1, (values.shape[1] - k.long())[:, None])
    values.masked_fill_(values < bound, -INF)
    if p is not None:
        drop = values.softmax(dim=-1).cumsum(dim=-1) <= 1 - p[:, None]
        drop[:, -1] = False
        values.masked_fill_(drop, -INF)
    return torch.empty_like(values).scatter_(-1, order, values).to(logits.dtype)


def check(logits: torch.Tensor, k: list[int], p: list[float] | None) -> None:
    top_k = torch.tensor(k, dtype=torch.int32)
    top_p = None if p is None else torch.tensor(p)
    expected = sorted_reference(logits, top_k, top_p)
    found = truncate(logits.clone(), top_k, top_p)
    assert found.dtype == logits.dtype
    assert torch.equal(found, expected)


K = [1, 2, 20, 20, 64, 50]
P = [0.95, 0.1, 0.95, 1.0, 0.5, 1e-6]


@pytest.mark.parametrize("p", [None, P], ids=["top-k", "top-k and top-p"])
@pytest.mark.parametrize(
    ("vocab", "dtype"),
    [
        (70, torch.float32),
        (128, torch.float32),
        (4_099, torch.float16),
        (4_099, torch.bfloat16),
        (9_000, torch.float32),
    ],
)
def test_equals_the_sort(vocab: int, dtype: torch.dtype, p: list[float] | None) -> None:
    torch.manual_seed(vocab)
    logits = torch.randn(6, vocab) * 3
    check(logits.to(dtype), K, p)
    check(logits.round().to(dtype), K, p)  # copies of nearly every value


def test_the_models_vocabulary_with_bf16_rounding() -> None:
    torch.manual_seed(1)
    logits = (torch.randn(2, 248_320) * 2).bfloat16().float()
    check(logits, [20, 64], [0.95, 0.8])


def test_clustered_values_fill_one_groups_neighbourhood() -> None:
    logits = torch.arange(9_000.0).flip(0).repeat(3, 1) / 400  # the largest stand side by side
    check(logits, [20, 64, 1], [0.95, 0.3, 0.5])


def test_a_masked_vocabulary() -> None:
    torch.manual_seed(2)
    logits = torch.full((4, 5_000), -INF)
    for row, allowed in enumerate((1, 5, 19, 300)):
        at = torch.randperm(5_000)[:allowed]
        logits[row, at] = torch.randn(allowed)
    check(logits, [20] * 4, [0.9, 0.5, 0.95, 0.2])
    check(logits, [20] * 4, None)


def test_all_equal_rows_are_cut_inside_their_copies() -> None:
    check(torch.zeros(3, 1_024), [5, 64, 1], [0.75, 0.5, 0.125])
    check(torch.zeros(2, 1_024), [5, 64], None)


def test_copies_of_the_bound_in_many_groups() -> None:
    torch.manual_seed(3)
    logits = torch.randn(2, 12_800)
    logits[:, ::97] = 5.0  # 132 copies in more groups than k
    logits[:, 7] = 6.0
    check(logits, [20, 3], [0.4, 0.9])


def test_a_row_with_nothing_finite_stays() -> None:
    logits = torch.full((1, 300), -INF)
    assert torch.equal(
        truncate(logits.clone(), torch.tensor([20], dtype=torch.int32), None), logits
    )


def test_nan_is_never_kept() -> None:
    torch.manual_seed(4)
    logits = torch.randn(2, 3_000)
    clean = logits.clone()
    logits[0, 17] = float("nan")
    logits[1] = float("nan")
    clean[0, 17] = -INF
    clean[1] = -INF
    k, p = torch.tensor([20, 20], dtype=torch.int32), torch.tensor([0.9, 0.9])
    found = truncate(logits, k, p)
    assert torch.equal(found[0], sorted_reference(clean, k, p)[0])
    assert torch.equal(found[1], clean[1])


def test_an_infinite_largest_value_is_cut_by_top_k_alone() -> None:
    logits = torch.randn(1, 3_000)
    logits[0, 5] = INF
    check(logits, [7], [0.5])


def test_signed_zeros_are_copies() -> None:
    logits = torch.full((1, 500), -1.0)
    logits[0, 3], logits[0, 400] = 0.0, -0.0
    check(logits, [1], None)


def test_rows_with_another_top_k_stay_as_they_are() -> None:
    torch.manual_seed(5)
    logits = torch.randn(4, 2_000)
    logits[1, 9] = float("nan")
    k = torch.tensor([20, 65, 2_000, 0], dtype=torch.int32)
    found = truncate(logits.clone(), k, torch.full((4,), 0.9))
    assert torch.equal(found[1:].nan_to_num(7), logits[1:].nan_to_num(7))
    assert int((found[0] > -INF).sum()) <= 20


def test_parameters_are_found_by_state_and_temperature_is_for_top_p_only() -> None:
    torch.manual_seed(6)
    logits = torch.randn(4, 2_000) * 3
    k, p = torch.tensor([3, 20, 30]), torch.tensor([0.5, 0.9, 0.7])
    heat = torch.tensor([2.0, 0.5, 0.0])
    states = torch.tensor([2, 0, -1, 1], dtype=torch.int32)
    found = truncate(logits.clone(), k.int(), p, temperature=heat, states=states)
    assert torch.equal(found[2], logits[2])
    for row, state, divisor in ((0, 2, 1.0), (1, 0, 2.0), (3, 1, 0.5)):
        one = slice(state, state + 1)
        kept = sorted_reference(logits[row : row + 1] / divisor, k[one], p[one]) > -INF
        assert torch.equal(found[row], logits[row].masked_fill(~kept[0], -INF))


def test_strided_and_empty_logits() -> None:
    torch.manual_seed(7)
    wide = torch.randn(3, 700)
    logits = wide[:, :650]
    k = torch.tensor([5, 6, 7], dtype=torch.int32)
    expected = sorted_reference(logits, k, None)
    beyond = wide[:, 650:].clone()
    assert truncate(logits, k, None).data_ptr() == wide.data_ptr()
    assert torch.equal(logits, expected) and torch.equal(wide[:, 650:], beyond)
    transposed = torch.randn(650, 3).t()
    expected = sorted_reference(transposed, k, None)
    assert torch.equal(truncate(transposed, k, None), expected)
    assert truncate(torch.empty(0, 650), k[:0], None).shape == (0, 650)
