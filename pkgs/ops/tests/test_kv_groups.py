"""Checks the sizes that patches 0201 and 0301 take from qwen3090_ops.kv_groups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090_ops.kv_groups import hybrid_group_size, window_block

counts = st.lists(st.integers(1, 96), min_size=1, max_size=4)


def test_the_model_and_its_drafter_get_groups_of_eight() -> None:
    # 16 would pad the drafter's 5 layers by 11; 8 pads them by 3.
    assert hybrid_group_size(5, [48, 16], [5]) == 8


@pytest.mark.parametrize(
    ("stock", "layers", "windows"),
    [
        (16, [48, 16], []),  # no drafter
        (17, [48, 17], []),  # MTP
        (5, [5], [25]),  # Gemma-like: the window layers are the many
        (5, [5, 5], [5]),  # a tie
        (13, [13], [12]),  # vLLM took the larger bucket
        (5, [], [5]),  # a drafter alone
    ],
)
def test_everything_else_keeps_the_stock_size(
    stock: int, layers: list[int], windows: list[int]
) -> None:
    assert hybrid_group_size(stock, layers, windows) == stock


@given(layers=counts, windows=counts)
def test_a_new_size_divides_the_target_and_pads_no_drafter_beyond_its_size(
    layers: list[int], windows: list[int]
) -> None:
    stock = min(layers + windows)
    size = hybrid_group_size(stock, layers, windows)
    assert size >= stock
    if size != stock:
        assert all(n % size == 0 for n in layers)
        assert all(-n % size <= n for n in windows)
        assert min(windows) < min(layers)


@pytest.mark.parametrize(
    ("page", "largest", "expected"),
    [
        (16 * 2112, 864 * 2080, 864),  # int8, 7 drafts
        (16 * 2112, 944 * 2080, 944),  # int8, 15 drafts
        (16 * 4096, 448 * 4096, 16),  # bf16 divides: vLLM scales it itself
        (16 * 2112, 1696 * 1056, 16),  # int4 target, int8 drafter, 7 drafts: divides
        (16 * 2112, 1840 * 1056, 928),  # the same with 15 drafts
        (16 * 4096, 1696 * 1056, 448),  # int4 target, bf16 drafter
        (0, 100, 16),
    ],
)
def test_blocks_of_the_published_configurations(page: int, largest: int, expected: int) -> None:
    assert window_block(16, page, largest) == expected


@given(token=st.integers(1, 9000), largest=st.integers(1, 4_000_000))
def test_a_promoted_block_fills_the_page_and_stays_a_multiple_of_16(
    token: int, largest: int
) -> None:
    block = window_block(16, 16 * token, largest)
    assert block % 16 == 0
    if largest % (16 * token) == 0:
        assert block == 16
    else:
        assert largest <= block * token < largest + 16 * token
