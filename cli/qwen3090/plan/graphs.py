"""CUDA graphs: which sizes are captured, and how much memory they take.

A decode step of n requests has n x (draft_tokens + 1) tokens. vLLM 0.28.0 captures 1, 2, 4 and
multiples of 8, rounds each up to whole requests for decode steps, and gives a step the next size
of either kind: with 4 drafts, 3 requests (15 tokens) get the piecewise graph of 16 tokens and not
the full one of 20, and 4 seats (20 tokens) no graph, since the largest size is cut down to 16. So
where that list leaves gaps, the command line names every size.

Of the memory the plan shows an estimate, and the engine leaves it free beside the pool when
``kv_bytes`` is unset: vLLM's V2 runner has none of its own (patch 0251 returns this one).
"""

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


def capture_sizes(largest: int, seats: int, draft_tokens: int) -> tuple[int, ...]:
    """Return the sizes (tokens) to capture, so that every decode step has a full graph.

    Args:
        largest: no size is larger.
        seats: requests that may run at once.
        draft_tokens: tokens drafted a step.

    Returns:
        With drafts one size for each number of requests, beyond ``EXACT_SEATS`` for every fourth
        (others are padded to it), and smaller ones for short prompts; without drafts vLLM's own.
    """
    if not draft_tokens:
        return tuple(sorted({*engine_sizes(largest), largest}))
    step = draft_tokens + 1
    exact = min(seats, EXACT_SEATS)
    decode = {n * step for n in (*range(1, exact + 1), *range(EXACT_SEATS, seats, 4), seats)}
    others = (size for size in engine_sizes(largest) if size < step or size > seats * step)
    return tuple(sorted(size for size in {*decode, *others, largest} if size <= largest))


def decode_graphs(sizes: tuple[int, ...], seats: int, draft_tokens: int) -> dict[int, int]:
    """Return the tokens of the full graph that decodes 1, 2, ... requests.

    Requests that get none are absent: vLLM takes the next larger size of any kind, and only sizes
    rounded up to whole requests have a full graph.

    Args:
        sizes: what is captured, in tokens.
        seats, draft_tokens: as in ``capture_sizes``.
    """
    step, largest = draft_tokens + 1, max(sizes, default=0)
    whole = {-(-size // step) * step for size in sizes}
    full = {size for size in whole if size <= min(largest, seats * step)}
    found = {}
    for requests in range(1, seats + 1):
        size = min((s for s in {*sizes, *full} if s >= requests * step), default=0)
        if size in full:
            found[requests] = size
    return found


def compilation_sizes(
    graph_sizes: int | tuple[int, ...], seats: int, draft_tokens: int
) -> dict[str, int | list[int]]:
    """Return the entry of vLLM's compilation config: the largest size where that says it all."""
    if not isinstance(graph_sizes, int):
        return {"cudagraph_capture_sizes": sorted(set(graph_sizes))}
    sizes = capture_sizes(graph_sizes, seats, draft_tokens)
    if sizes == engine_sizes(graph_sizes):
        return {"max_cudagraph_capture_size": graph_sizes}
    return {"cudagraph_capture_sizes": list(sizes)}
