"""200 clients at once against four seats, each asking again as soon as it has its answer."""

import asyncio
import time

from asking import Stream, body, session, several, stream
from booted import SEATS, Booted, memory
from report import Row, jain, spread

CLIENTS, TOKENS, KINDS = 200, 32, 8
SETTLED = 0.2  # share of the run after which memory is compared


def prompts() -> list[str]:
    """Return prompts of different lengths, so that a mixed-up answer shows."""
    return [f"{'Hello there. ' * (1 + 3 * kind)}Go" for kind in range(KINDS)]


async def _client(
    booted: Booted, number: int, until: float, notes: list[tuple[int, Stream]]
) -> None:
    """One client: a connection of its own, one stream after the other."""
    kind = number % KINDS
    asked = body(prompts()[kind], TOKENS)
    async with session() as client:
        while time.monotonic() < until:
            notes.append((number, await stream(client, booted, asked)))


async def _watch(booted: Booted, until: float, seen: list[dict[str, float]]) -> None:
    while time.monotonic() < until:
        seen.append({**memory(booted.processes()), "running": booted.progress()["running"]})
        await asyncio.sleep(1.0)


async def _run(
    booted: Booted, seconds: float
) -> tuple[list[tuple[int, Stream]], list[dict[str, float]]]:
    until = time.monotonic() + seconds
    notes: list[tuple[int, Stream]] = []
    seen: list[dict[str, float]] = []
    clients = (_client(booted, number, until, notes) for number in range(CLIENTS))
    await asyncio.gather(_watch(booted, until, seen), *clients)
    return notes, seen


def run(booted: Booted, short: bool) -> Row:
    """Run the scenario for five minutes, or for 20 seconds."""
    seconds = 20.0 if short else 300.0
    row = Row("crowd", f"{CLIENTS} clients at once against {SEATS} seats for {seconds:.0f} s")
    alone = [asyncio.run(several(booted, [body(prompt, TOKENS)]))[0].text for prompt in prompts()]
    began = time.monotonic()
    notes, seen = asyncio.run(_run(booted, seconds))
    took = time.monotonic() - began
    streams = [found for _, found in notes]
    errors = [found.error for found in streams if found.error]
    wrong = sum(found.text != alone[number % KINDS] for number, found in notes if not found.error)
    counts = [sum(1 for number, _ in notes if number == each) for each in range(CLIENTS)]
    first, last = seen[int(len(seen) * SETTLED)], seen[-1]
    grown = {name: round(last[name] - first[name], 1) for name in ("api", "engine", "worker")}
    row.figures = {
        "seconds": round(took, 1),
        "streams": len(streams),
        "errors": len(errors),
        "first_errors": errors[:3],
        "answers_unlike_alone": wrong,
        "streams_of_a_client": [min(counts), max(counts)],
        "fairness_jain": round(jain(counts), 4),
        "first_token_s": spread([found.first for found in streams if found.first]),
        "whole_answer_s": spread([found.total for found in streams]),
        "silence_in_a_stream_s": spread([found.gap for found in streams]),
        "tokens_s": round(len(streams) * TOKENS / took, 1),
        "most_running": max(each["running"] for each in seen),
        "memory_grown_MiB": grown,
        "memory_MiB": {name: last[name] for name in ("supervisor", "api", "engine", "worker")},
    }
    row.demand(not errors, f"{len(errors)} streams failed: {errors[:1]}")
    row.demand(not wrong, f"{wrong} answers differ from the one given alone")
    row.demand(min(counts) >= 1, "a client got no answer")
    row.demand(max(counts) - min(counts) <= 2, f"{min(counts)} to {max(counts)} answers a client")
    row.demand(max(each["running"] for each in seen) <= SEATS, "more ran than there are seats")
    row.demand(all(each < 64 for each in grown.values()), f"memory grew by {grown} MiB")
    figures = row.figures
    row.held = (
        f"all {len(streams):,} streams ended whole and as when alone; {min(counts)} to "
        f"{max(counts)} a client; first token after {figures['first_token_s']['p50']} s (median), "  # type: ignore[index]
        f"{figures['first_token_s']['p99']} s (99 %)"  # type: ignore[index]
    )
    row.lost = "nothing" if not errors else f"{len(errors)} streams"
    return row
