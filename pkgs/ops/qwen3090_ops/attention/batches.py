"""Which rows of a batch are read by which kernel: decided on the host, once a step, no copy back.

What vLLM 0.28.0 promises, and what is used of it:

- Order (v1/worker/gpu/model_runner.py, sort_batch_req_ids): requests with drafts first, then those
  with as many tokens as a verify step, then by their tokens. So short rows lead as a rule; a
  prompt's last chunk that carries drafts may stand before them. Nothing here relies on the order.
- Host lengths (v1/attention/backend.py, seq_lens_cpu_upper_bound): exact for rows in prefill.
  Under asynchronous scheduling a row that verified drafts counts them all as accepted, too many;
  such a row has at most 1 + draft tokens, and its length is read on the device alone. A row with
  more tokens has not caught up with its prompt, so no drafts of it are in flight.
- Padding (model_runner.py, prepare_inputs; mamba_hybrid.py, prepare_attn): a FULL graph's batch has
  rows behind its requests that begin and end at the last token and have length 0. Graphs are of
  uniform batches: (padded) rows of 1 + draft tokens, or of 1 in the drafter.
- A prompt's short last chunk is a short row like any other: its tokens are in the cache already,
  vLLM writes them before it calls attention (model_executor/layers/attention/attention.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import torch


@dataclass(frozen=True)
class Run:
    """Neighbouring short rows.

    Attributes:
        first, end: the rows, from ``first`` to before ``end``.
        begin, stop: their new tokens in the batch.
        tokens: how many new tokens the kernel is launched for, at least those of each row: a length
            that graphs have too, since any other would compile a kernel while serving.
        starts: int32 [rows + 1], on the device: where each begins, counted from ``begin``.
    """

    first: int
    end: int
    begin: int
    stop: int
    tokens: int
    starts: torch.Tensor


@dataclass(frozen=True)
class Chunk:
    """Cached positions ``first`` to ``first + count``; ``ends``: int32 [0, count], on device."""

    first: int
    count: int
    ends: torch.Tensor


@dataclass(frozen=True)
class Prompt:
    """Tokens ``begin`` to ``stop`` of a batch: one request with context, or several without.

    Attributes:
        row: the (first) request.
        begin, stop: its new tokens.
        longest: most new tokens of one request.
        starts: int32 [requests + 1], on the device: where each begins, counted from ``begin``.
        chunks: the parts of its context, none empty.
    """

    row: int
    begin: int
    stop: int
    longest: int
    starts: torch.Tensor
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Batch:
    """A batch as it is computed: runs of short rows by split attention, prompts by prefill."""

    runs: tuple[Run, ...]
    prompts: tuple[Prompt, ...]


def arrange(
    starts: torch.Tensor,
    lengths: torch.Tensor | None,
    device_starts: torch.Tensor,
    *,
    longest: int,
    widths: Sequence[int],
    room: int,
) -> Batch | None:
    """Return what computes which row; None when a long row's context is not known.

    Args:
        starts: int32 [rows + 1] on the host, where each row's tokens begin.
        lengths: int32 [rows] on the host, cached tokens with the new ones; exact for long rows.
        device_starts: ``starts`` on the device.
        longest: most new tokens of a row.
        widths: new tokens that short attention is launched for, ascending; a row with more than
            the last of them is long.
        room: tokens of context that are unpacked at a time.
    """
    rows, most = starts.shape[0] - 1, widths[-1]
    if longest <= most:
        tokens = _width(widths, longest)
        return Batch((Run(0, rows, 0, int(starts[-1]), tokens, device_starts[: rows + 1]),), ())
    if lengths is None:
        return None
    places = starts.tolist()
    counts = [end - begin for begin, end in pairwise(places)]
    contexts = [length - count for length, count in zip(lengths.tolist(), counts, strict=True)]
    runs, prompts = [], []
    # Rows with a context stand alone; neighbours of another kind go together.
    kinds = [
        "short" if count <= most else f"context {row}" if contexts[row] > 0 else "prompt"
        for row, count in enumerate(counts)
    ]
    for kind, group in groupby(range(rows), key=kinds.__getitem__):
        first, *others = group
        end = first + 1 + len(others)
        widest, begin, stop = max(counts[first:end]), places[first], places[end]
        if not widest:
            continue
        part = device_starts[first : end + 1]
        part = part - begin if begin else part
        if kind == "short":
            runs.append(Run(first, end, begin, stop, _width(widths, widest), part))
            continue
        prompts.append(
            Prompt(
                row=first,
                begin=begin,
                stop=stop,
                longest=widest,
                starts=part,
                chunks=_chunks(contexts[first], room, device_starts.device),
            )
        )
    return Batch(tuple(runs), tuple(prompts))


def _width(widths: Sequence[int], tokens: int) -> int:
    """Return the least width that holds ``tokens``."""
    return next(width for width in widths if width >= tokens)


def _chunks(context: int, room: int, device: torch.device) -> tuple[Chunk, ...]:
    """Cut a context; the bounds are written by a kernel, not copied, so the host waits for none."""
    parts = ((first, min(room, context - first)) for first in range(0, context, room))
    return tuple(
        Chunk(first, count, torch.arange(0, count + 1, count, dtype=torch.int32, device=device))
        for first, count in parts
    )
