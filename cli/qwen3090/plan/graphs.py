"""CUDA graphs: which sizes are captured, and how much memory they take.

A decode step of n requests has n x (draft_tokens + 1) tokens. vLLM 0.28.0 captures 1, 2, 4 and
multiples of 8, rounds each up to whole requests for decode steps, and gives a step the next size
of either kind: with 4 drafts, 3 requests (15 tokens) get the piecewise graph of 16 tokens and not
the full one of 20, and 4 seats (20 tokens) no graph, since the largest size is cut down to 16. So
where that list leaves gaps, the command line names every size.

Where the drafts depend on the number of requests, a batch that grew or shrank has rows of its old
length for one step, so every number of requests has a graph for each length. vLLM captures those
anyway; a size that only such a graph has would leave a step of as many tokens in a mixed batch
without one.

Of the memory the plan shows an estimate, and the engine leaves it free beside the pool when
``kv_bytes`` is unset: vLLM's V2 runner has none of its own (patch 0251 returns this one).
"""

from collections.abc import Sequence

EXACT_SEATS = 16  # beyond, a step is padded to the next size: more graphs cost time at each start

# Draft tokens -> bytes, published for DFlash2 with this model on one RTX 3090. They depend on the
# tokens that a step verifies, hardly on how many sizes are captured.
PUBLISHED = {
    7: 1_556_925_644,  # 1.45 GiB
    15: 1_954_210_119,  # 1.82 GiB
    18: 2_276_332_666,  # 2.12 GiB
    20: 2_437_393_940,  # 2.27 GiB
}


def graph_bytes(draft_tokens: int) -> int:
    """Return the bytes of the next larger published figure, of the largest beyond it.

    Other speculation and none have no figure of their own; they verify no more tokens a step than
    DFlash2 with as many drafts, so its figure is the cautious one.
    """
    fitting = [size for drafts, size in PUBLISHED.items() if drafts >= draft_tokens]
    return fitting[0] if fitting else max(PUBLISHED.values())


def engine_sizes(largest: int) -> tuple[int, ...]:
    """Return the sizes (tokens) that vLLM 0.28.0 captures for ``max_cudagraph_capture_size``."""
    small = [size for size in (1, 2, 4) if size <= largest]
    steps = [*range(8, min(largest + 1, 256), 8), *range(256, largest + 1, 16)]
    return (*small, *steps)


def step_lengths(seats: int, draft_tokens: int, by_batch: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the tokens of each request in a decode step of 1, 2, ... ``seats`` requests.

    Args:
        seats: requests that may run at once.
        draft_tokens: tokens drafted a step.
        by_batch: those of a step of 1, 2, ... requests, the last for all beyond; empty for
            ``draft_tokens`` always.
    """
    drafts = tuple(by_batch) or (draft_tokens,)
    return tuple(drafts[min(n, len(drafts) - 1)] + 1 for n in range(seats))


def most_tokens(lengths: Sequence[int]) -> int:
    """Return the tokens of the largest decode step; ``lengths`` as of ``step_lengths``."""
    return max(n * length for n, length in enumerate(lengths, 1))


def capture_sizes(largest: int, lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes (tokens) to capture, so that every decode step has a full graph.

    Args:
        largest: no size is larger.
        lengths: tokens of a request, by number of requests (``step_lengths``).

    Returns:
        With drafts one size for each number of requests and length, beyond ``EXACT_SEATS`` for
        every fourth (others are padded to it), and smaller ones for short prompts; without drafts
        vLLM's own. Where lengths differ, also one for each number of requests: drafts are made in
        graphs of one token a request, and those of a graph are as many for all that share it.
    """
    seats, steps = len(lengths), set(lengths)
    if steps == {1}:
        return tuple(sorted({*engine_sizes(largest), largest}))
    exact = min(seats, EXACT_SEATS)
    numbers = (*range(1, exact + 1), *range(EXACT_SEATS, seats, 4), seats)
    decode = {n * step for step in steps for n in numbers}
    drafts = numbers if len(steps) > 1 else ()
    others = (s for s in engine_sizes(largest) if s < min(steps) or s > most_tokens(lengths))
    return tuple(sorted(s for s in {*decode, *drafts, *others, largest} if s <= largest))


def decode_graphs(sizes: Sequence[int], lengths: Sequence[int]) -> dict[int, int]:
    """Return the tokens of the full graph that decodes 1, 2, ... requests.

    Requests that get none are absent: vLLM takes the next larger size of any kind, and only sizes
    rounded up to whole requests have a full graph.

    Args:
        sizes: what is captured, in tokens.
        lengths: as in ``capture_sizes``.
    """
    largest = max(sizes, default=0)
    full = {step: _whole(sizes, step, largest, len(lengths)) for step in set(lengths)}
    captured = {*sizes, *(size for each in full.values() for size in each)}
    found = {}
    for requests, step in enumerate(lengths, 1):
        size = min((s for s in captured if s >= requests * step), default=0)
        if size in full[step]:
            found[requests] = size
    return found


def _whole(sizes: Sequence[int], step: int, largest: int, seats: int) -> set[int]:
    """Return sizes rounded up to requests of ``step`` tokens each, as vLLM captures them."""
    whole = {-(-size // step) * step for size in sizes}
    return {size for size in whole if size <= min(largest, seats * step)}


def compilation_sizes(
    graph_sizes: int | tuple[int, ...], lengths: Sequence[int]
) -> dict[str, int | list[int]]:
    """Return the entry of vLLM's compilation config: the largest size where that says it all."""
    if not isinstance(graph_sizes, int):
        return {"cudagraph_capture_sizes": sorted(set(graph_sizes))}
    sizes = capture_sizes(graph_sizes, lengths)
    if sizes == engine_sizes(graph_sizes):
        return {"max_cudagraph_capture_size": graph_sizes}
    return {"cudagraph_capture_sizes": list(sizes)}
