"""Speculation must not change what is sampled: chi-squared tests of draft and verify.

A numpy mirror of vLLM's V2 sampling code draws for hundreds of thousands of requests in seconds;
`interpreted/test_mirror.py` holds the mirror to the kernels, token for token. The same cells with
the kernels themselves, on a GPU: `checks/gpu/lossless.py`.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
pytest.importorskip("vllm")
from draws.cells import SMALLEST, Cell, cells, run
from draws.chains import BOTH_CUT, PLAIN, Cut
from draws.mirror import Faults, Mirror

pytestmark = [pytest.mark.engine, pytest.mark.slow]
DRAWS = 200_000
KINDS = [(False, False), (False, True), (True, False), (True, True)]
IDS = ["chained-standard", "chained-block", "selector-standard", "selector-block"]


def smallest(cell: Cell, draws: int = DRAWS, **faults: bool) -> float:
    """Return the smallest p-value of a cell."""
    found, _ = run(
        cell,
        draws,
        lambda chain, seeds: Mirror(chain, seeds, cell.selector, cell.block, Faults(**faults)),
    )
    assert len(found) == 3
    return min(found.values())


@pytest.mark.parametrize("cell", list(cells()), ids=str)
def test_draft_and_verify_sample_the_target(cell: Cell) -> None:
    assert smallest(cell) > SMALLEST


@pytest.mark.parametrize("cut", [PLAIN, BOTH_CUT], ids=["plain", "cut"])
@pytest.mark.parametrize(("selector", "block"), KINDS, ids=IDS)
def test_noise_shared_with_the_target_is_caught(selector: bool, block: bool, cut: Cut) -> None:
    """As vLLM without patch 0221."""
    assert smallest(Cell(1.0, cut, selector, block), 50_000, shared_noise=True) < 1e-20


@pytest.mark.parametrize(("selector", "block"), KINDS, ids=IDS)
def test_a_cache_that_is_not_what_was_sampled_from_is_caught(selector: bool, block: bool) -> None:
    assert smallest(Cell(1.0, PLAIN, selector, block), 50_000, wrong_cache=True) < 1e-20


def test_acceptance_draws_met_twice_are_caught() -> None:
    """As vLLM's block verification without patch 0223; the standard one does not mind."""
    assert smallest(Cell(1.0, PLAIN, True, True), repeated_draws=True) < 1e-20
    assert smallest(Cell(1.0, PLAIN, True, False), repeated_draws=True) > SMALLEST
