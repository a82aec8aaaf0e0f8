"""Memory for partial results of split attention: made once, since captured graphs keep addresses.

Sizes follow from the seats, the verify length and the card; nothing here grows later.
"""

from dataclasses import dataclass

import torch

MOST_SEGMENTS = 64
PROGRAMS_A_MULTIPROCESSOR = 2


def segments(requests: int, kv_heads: int, multiprocessors: int) -> int:
    """Return in how many parts a request's cache is read at once, for a batch of ``requests``.

    As many as make two programs a multiprocessor of all requests' parts, or a little less: one
    more would run alone in a third round. An RTX 3090 has room for one program on each of its 82
    (the kernel takes over half of the shared memory): 41 parts for one request are two full rounds.
    """
    wanted = PROGRAMS_A_MULTIPROCESSOR * multiprocessors // (requests * kv_heads)
    return max(1, min(wanted, MOST_SEGMENTS))


@dataclass(frozen=True)
class Scratch:
    """Partial results of one layer at a time, shared by all layers.

    Attributes:
        partial: fp32 [rows, dim], un-normalised sums, one row per (request, segment, token, head).
        weights: fp32 [rows, 2], the maximum (in powers of two) and the sum of each row.
        tokens: most query tokens of one request.
    """

    partial: torch.Tensor
    weights: torch.Tensor
    tokens: int

    @classmethod
    def make(
        cls,
        *,
        requests: int,
        tokens: int,
        heads: int,
        kv_heads: int,
        dim: int,
        multiprocessors: int,
        device: torch.device,
    ) -> "Scratch":
        """Allocate for any batch of up to ``requests`` requests with ``tokens`` tokens each."""
        most = max(
            count * segments(count, kv_heads, multiprocessors) for count in range(1, requests + 1)
        )
        rows = most * tokens * heads
        return cls(
            torch.empty(rows, dim, dtype=torch.float32, device=device),
            torch.empty(rows, 2, dtype=torch.float32, device=device),
            tokens,
        )
