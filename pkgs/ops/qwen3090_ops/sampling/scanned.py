"""What truncation and the search for candidates begin with: group maxima, and room for the rest."""

from dataclasses import dataclass

import torch
import triton

from qwen3090_ops.sampling.limits import GROUP, MAX_K
from qwen3090_ops.sampling.scan import group_maxima_kernel


@dataclass(frozen=True)
class Launch:
    """How the kernels are launched; results do not depend on it.

    Attributes:
        group: columns of a group.
        scan_tile: groups that one program of the scan and of the mask reads.
        scan_warps: warps of those programs.
        cut_tile: groups that the one program of a row reads at a time while it finds the cut.
        cut_warps: warps of that program.
    """

    group: int = GROUP
    scan_tile: int = 32
    scan_warps: int = 4
    cut_tile: int = 32
    cut_warps: int = 8


MANY_ROWS = Launch()
FEW_ROWS = Launch(scan_tile=16)
"""For at most FEW rows: smaller tiles keep more of the card busy."""
FEW = 4


def launch_for(rows: int) -> Launch:
    """Return how a number of rows is launched."""
    return FEW_ROWS if rows <= FEW else MANY_ROWS


@dataclass(frozen=True)
class Scanned:
    """Rows whose groups have been scanned.

    Attributes:
        by: how kernels on these rows are launched.
        groups: groups of a row.
        capacity: values of a row's groups above a bound: MAX_K - 1 groups, or a whole short row.
        grid: of kernels that go through all groups.
        maxima: float32 [rows, groups].
        ids: int32 [rows, groups], room for the numbers of the groups that count.
        list_values: float32 [rows, capacity + MAX_K], room for the values found.
        list_columns: int32, for their columns.
    """

    by: Launch
    groups: int
    capacity: int
    grid: tuple[int, int]
    maxima: torch.Tensor
    ids: torch.Tensor
    list_values: torch.Tensor
    list_columns: torch.Tensor


def scan(values: torch.Tensor, launch: Launch | None = None) -> Scanned:
    """Find the largest value of each group of columns.

    Args:
        values: float32, bfloat16 or float16 [rows, vocab], rows > 0, columns contiguous.
        launch: how to launch the kernels; None: by the number of rows.
    """
    rows, vocab = values.shape
    by = launch or launch_for(rows)
    groups = triton.cdiv(vocab, by.group)
    capacity = MAX_K * by.group
    list_values = values.new_empty((rows, capacity + MAX_K), dtype=torch.float32)
    found = Scanned(
        by,
        groups,
        capacity,
        (rows, triton.cdiv(groups, by.scan_tile)),
        values.new_empty((rows, groups), dtype=torch.float32),
        values.new_empty((rows, groups), dtype=torch.int32),
        list_values,
        values.new_empty(list_values.shape, dtype=torch.int32),
    )
    group_maxima_kernel[found.grid](
        values,
        values.stride(0),
        found.maxima,
        vocab,
        groups,
        GROUP=by.group,
        TILE=by.scan_tile,
        num_warps=by.scan_warps,
    )
    return found
