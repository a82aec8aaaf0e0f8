"""A client that takes notes: what came of each stream, and when."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from booted import NAME, Booted

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


@dataclass
class Stream:
    """One request and what came of it.

    Attributes:
        text: what was generated.
        first: seconds until the first token; 0 without one.
        total: seconds until the end.
        gap: the longest silence between two pieces, seconds.
        ended: whether it has a reason to end and the last line.
        error: what went wrong, or "".
    """

    text: str = ""
    first: float = 0.0
    total: float = 0.0
    gap: float = 0.0
    ended: bool = False
    error: str = ""
    reasons: list[str] = field(default_factory=list)


def body(prompt: str, tokens: int, **more: Any) -> dict[str, Any]:
    """Return a streamed completion's body; it runs to its length."""
    asked = {"model": NAME, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    return asked | {"stream": True, "ignore_eos": True} | more


def session(limit: int = 0) -> aiohttp.ClientSession:
    """Return a session without a limit of time or, by default, of connections."""
    connector = aiohttp.TCPConnector(limit=limit)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))


async def stream(
    client: aiohttp.ClientSession, booted: Booted, asked: dict[str, Any], timeout: float = 600.0
) -> Stream:
    """Ask and read to the end; nothing is raised, all is noted."""
    found, began = Stream(), time.monotonic()
    try:
        async with asyncio.timeout(timeout):
            await _read(client, booted, asked, found, began)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        found.error = f"{type(error).__name__}: {error}"[:200]
    found.total = time.monotonic() - began
    if not found.error and not found.ended:
        found.error = "the stream ended without its last line"
    return found


async def _read(
    client: aiohttp.ClientSession,
    booted: Booted,
    asked: dict[str, Any],
    found: Stream,
    began: float,
) -> None:
    url = booted.server.url + COMPLETIONS
    async with client.post(url, json=asked, headers=booted.headers) as answer:
        if answer.status != 200:
            found.error = f"status {answer.status}: {(await answer.text())[:120]}"
            return
        last = 0.0
        async for line in answer.content:
            if not line.startswith(b"data: "):
                continue
            now = time.monotonic()
            if last:
                found.gap = max(found.gap, now - last)
            last = now
            if line.strip() == b"data: [DONE]":
                found.ended = bool(found.reasons)
                continue
            piece = json.loads(line[6:])
            if "error" in piece:
                found.error = f"error event: {json.dumps(piece['error'])[:150]}"
                continue
            for choice in piece["choices"]:
                found.first = found.first or now - began
                found.text += choice["text"]
                if choice["finish_reason"]:
                    found.reasons.append(choice["finish_reason"])


async def several(booted: Booted, asked: list[dict[str, Any]]) -> list[Stream]:
    """Ask all at once and read all to their ends."""
    async with session() as client:
        return list(await asyncio.gather(*(stream(client, booted, each) for each in asked)))
