"""Ten thousand requests with wrong keys, beside a client that has the right one."""

import asyncio
import itertools
import secrets
import time

import aiohttp
from asking import CHAT, body, session, stream
from booted import Booted, memory
from report import Row, spread

CONNECTIONS = 16


async def _right(booted: Booted, ended: asyncio.Event) -> list[str | float]:
    """Ask with the right key until the others are done; return seconds, or what went wrong."""
    found: list[str | float] = []
    async with session() as client:
        while not ended.is_set():
            answer = await stream(client, booted, body("Hello", 8))
            found.append(answer.error or answer.total)
    return found


async def _wrong(booted: Booted, count: int) -> tuple[list[int], list[str | float]]:
    """Send wrong keys; return (refused, let in), and what the right client saw."""
    numbers, counted, ended = itertools.count(), [0, 0], asyncio.Event()
    good = booted.server.key

    async def work(client: aiohttp.ClientSession) -> None:
        while (number := next(numbers)) < count:
            # Random ones, and those that differ from the right one in a character.
            place = number % len(good)
            close = good[:place] + ("x" if good[place] != "x" else "y") + good[place + 1 :]
            key = close if number % 2 else secrets.token_urlsafe(24)
            headers = {"Authorization": f"Bearer {key}"}
            data = b'{"model": "demo", "messages": []}'
            url = booted.server.url + CHAT
            async with client.post(url, data=data, headers=headers) as answer:
                await answer.read()
                counted[answer.status != 401] += 1

    right = asyncio.create_task(_right(booted, ended))
    async with session() as client:
        await asyncio.gather(*(work(client) for _ in range(CONNECTIONS)))
    ended.set()
    return counted, await right


def run(booted: Booted, short: bool) -> Row:
    """Send 10,000 wrong keys, or 2,000."""
    count = 2000 if short else 10_000
    row = Row("wrong-keys", f"{count:,} requests with wrong keys on {CONNECTIONS} connections")
    log, before = booted.server.log, memory(booted.processes())
    size, began = log.stat().st_size, time.monotonic()
    (refused, let_in), right = asyncio.run(_wrong(booted, count))
    took = time.monotonic() - began
    with log.open("rb") as file:
        file.seek(size)
        lines = file.read().splitlines()
    denials = [line for line in lines if b"denied a request" in line]
    errors = [each for each in right if isinstance(each, str)]
    times = [each for each in right if isinstance(each, float)]
    access = [line for line in lines if b"401" in line]
    row.figures = {
        "seconds": round(took, 1),
        "a_second": round(count / took),
        "refused": refused,
        "let_in": let_in,
        "right_answers": len(times),
        "right_answer_s": spread(times, 3),
        "denial_lines": len(denials),
        "other_lines_with_401": len(access),
        "log_bytes": log.stat().st_size - size,
        "api_memory_grown_MiB": round(memory(booted.processes())["api"] - before["api"], 1),
    }
    row.demand(refused == count and not let_in, f"{let_in} were not answered 401")
    row.demand(not errors and bool(times), f"with the right key: {errors[:1] or 'no answer'}")
    row.demand(len(denials) <= took / 10 + 2, f"{len(denials)} lines about it in {took:.0f} s")
    row.demand(len(access) <= len(denials), f"{len(access)} lines of the log for refusals")
    row.held = (
        f"all answered 401, {count / took:.0f} a second; {len(times)} requests with the right key "
        f"answered meanwhile; lines about it in the log: {len(denials)}"
    )
    return row
