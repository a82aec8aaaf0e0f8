"""The cells of the test, and one cell's verdict: shared by the CPU test and the GPU check."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from draws.chains import BOTH_CUT, PLAIN, TARGET_CUT, Chain, Cut, make, p_values
from draws.loop import FIRST, Sampler, generate, seeds_of

DEPTH, TOKENS = 3, 3
TEMPERATURES = (0.7, 1.0, 1.3)
SMALLEST = 1e-4  # a p-value below this fails: seeds are fixed, so a pass stays one


@dataclass(frozen=True)
class Cell:
    """What is drafted and verified, and how."""

    temperature: float
    cut: Cut
    selector: bool
    block: bool

    def __str__(self) -> str:
        cuts = {PLAIN: "plain", TARGET_CUT: "target cut", BOTH_CUT: "both cut"}
        drafter = "selector" if self.selector else "chained"
        return (
            f"T {self.temperature}, {cuts[self.cut]}, {drafter}, "
            f"{'block' if self.block else 'standard'}"
        )


def cells() -> Iterator[Cell]:
    """Yield every combination; a cut of the target alone (the knob off) at one temperature."""
    for t, cut, selector, block in itertools.product(
        TEMPERATURES, (PLAIN, BOTH_CUT, TARGET_CUT), (False, True), (False, True)
    ):
        if cut != TARGET_CUT or t == 1.0:
            yield Cell(t, cut, selector, block)


def cut_rows(logits: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """Cut [rows, columns] by vLLM's own sort."""
    from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p_pytorch

    rows = logits.shape[0]
    k = torch.full((rows,), min(top_k, logits.shape[1]), dtype=torch.int32)
    return apply_top_k_top_p_pytorch(logits.clone(), k, torch.full((rows,), top_p))


def run(
    cell: Cell, draws: int, sampler: Callable[[Chain, np.ndarray], Sampler], chunk: int = 16384
) -> tuple[dict[str, float], float]:
    """Return {what: p-value} of ``draws`` requests, and the tokens emitted a step."""
    chain = make(DEPTH, cell.temperature, cell.cut, cut_rows)
    tokens, steps, emitted = generate(sampler(chain, seeds_of(draws, 1)), draws, TOKENS, chunk)
    return p_values(chain, FIRST, tokens), emitted / steps
