"""Chi-squared tests of draft and verify with vLLM's own kernels: p-values of every cell.

usage: lossless.py [--draws N] [--on cuda|cpu|mirror] [--only TEXT] [--wrong-cache]

Each cell drafts and verifies tokens of a toy model of known distribution for N requests at once
(MTP's chained drafts or the DFlash2 selector's walk; standard or block verification; temperature;
truncation), and compares the first token and each pair of neighbours with the exact distribution.
--on mirror draws with the numpy mirror of the CPU tests, --on cpu needs Triton's interpreter (and
few draws). --wrong-cache is the negative control: every cell must fail. With a stock vLLM 0.28.0
on PYTHONPATH in place of the patched one, every cell with probabilistic drafts fails too.
Exit status: 0 all passed, 1 a cell failed (with --wrong-cache: a cell passed).
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "pkgs/ops/tests/support"))
from draws.cells import SMALLEST, Cell, cells, run
from draws.chains import Chain
from draws.loop import Sampler
from draws.mirror import Faults, Mirror


def sampler(cell: Cell, where: str, wrong: bool) -> Any:
    """Return what makes the cell's sampler of a chain and seeds."""
    if where == "mirror":
        faults = Faults(wrong_cache=wrong)
        return lambda chain, seeds: Mirror(chain, seeds, cell.selector, cell.block, faults)
    from draws.kernels import Kernels

    class WrongCache(Kernels):
        def draft(self, rows: np.ndarray, last: np.ndarray, position: np.ndarray) -> np.ndarray:
            tokens = super().draft(rows, last, position)
            self.draft_logits[rows] *= 0.5
            return tokens

    def make(chain: Chain, seeds: np.ndarray) -> Sampler:
        kind = WrongCache if wrong else Kernels
        return kind(chain, seeds, cell.selector, cell.block, where)

    return make


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--on", choices=["cuda", "cpu", "mirror"], default="cuda")
    parser.add_argument("--only", default="", help="only cells with this in their name")
    parser.add_argument("--wrong-cache", action="store_true")
    given = parser.parse_args()
    bad = 0
    print(
        f"{'cell':42} {'p: first token':>15} {'tokens 1, 2':>12} {'tokens 2, 3':>12}  tokens/step"
    )
    for cell in cells():
        if given.only not in str(cell):
            continue
        started = time.time()
        chunk = given.draws if given.on == "cuda" else 16384
        make = sampler(cell, given.on, given.wrong_cache)
        values, a_step = run(cell, given.draws, make, chunk)
        passed = min(values.values()) > SMALLEST
        bad += passed == given.wrong_cache
        p = "".join(f"{v:13.2e}" for v in values.values())
        verdict = "ok" if passed else "NOT THE TARGET'S DISTRIBUTION"
        print(
            f"{cell!s:44}{p}  {a_step:.4f}  {time.time() - started:5.1f} s  {verdict}", flush=True
        )
    control = " (negative control: all must fail)" if given.wrong_cache else ""
    print(f"{given.draws} draws a cell on {given.on}{control}: {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
