"""Clients that read, or write, one byte a second: they must slow nobody else down."""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from asking import CHAT, body, session, several, stream
from booted import NAME, SEATS, Booted, memory, until
from report import Row, spread

READERS, WRITERS, NORMAL = 20, 100, 24


def _request(booted: Booted, tokens: int) -> bytes:
    """Return a chat request whose stream is many times what the sockets hold."""
    asked = {
        "model": NAME,
        "messages": [{"role": "user", "content": "Go on"}],
        "max_tokens": tokens,
        "ignore_eos": True,
        "stream": True,
        "logprobs": True,
        "top_logprobs": 20,
    }
    data = json.dumps(asked)
    head = [f"POST {CHAT} HTTP/1.1", "Host: here", f"Content-Length: {len(data)}"]
    head += [f"{name}: {value}" for name, value in booted.headers.items()]
    return ("\r\n".join(head) + "\r\n\r\n" + data).encode()


def _open(booted: Booted) -> socket.socket:
    found = socket.socket()
    # Little room on both sides: the server's side grows with the size of a segment.
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    found.connect(("127.0.0.1", booted.port))
    return found


@contextmanager
def _dawdling(booted: Booted, tokens: int) -> Iterator[list[socket.socket]]:
    """Hold slow readers and slow writers open, each one byte a second."""
    readers = [_open(booted) for _ in range(READERS)]
    writers = [_open(booted) for _ in range(WRITERS)]
    whole = _request(booted, tokens)
    for each in readers:
        each.sendall(whole)
    for each in [*readers, *writers]:
        each.setblocking(False)
    ended = threading.Event()

    def dawdle() -> None:
        place = 0
        while not ended.wait(1.0):
            for each in readers:
                with contextlib.suppress(BlockingIOError):  # it still waits for a seat
                    each.recv(1)
            for each in writers:
                each.send(whole[place : place + 1])
            place += 1

    thread = threading.Thread(target=dawdle, daemon=True)
    thread.start()
    try:
        yield readers
    finally:
        ended.set()
        thread.join()
        for each in [*readers, *writers]:
            each.close()


def _busy(booted: Booted) -> bool:
    found = booted.progress()
    return bool(found["running"] or found["waiting"])


async def _normal(booted: Booted) -> list[float]:
    """Return the seconds of answers to one client, one after the other."""
    async with session() as client:
        return [(await stream(client, booted, body("Hello", 16))).total for _ in range(NORMAL)]


def run(booted: Booted, short: bool) -> Row:
    """Compare a normal client's answers before, and beside the slow ones."""
    tokens = 200 if short else 600
    row = Row(
        "slow",
        f"{READERS} clients that read one byte a second of a stream of {tokens} tokens with "
        f"log probabilities, {WRITERS} that send their request so",
    )
    before = asyncio.run(_normal(booted))
    used = memory(booted.processes())
    with _dawdling(booted, tokens):
        # Their seats are theirs while they are computed; what is measured comes after.
        until(lambda: booted.progress()["running"] == SEATS, "slow streams are computed")
        computed = until(lambda: not _busy(booted), "slow streams have been computed", 600)
        beside = asyncio.run(_normal(booted))
        full = asyncio.run(several(booted, [body("Hello", 64)] * SEATS))
        unread, most = booted.active(), memory(booted.processes())
    freed = until(lambda: not booted.active(), "the slow requests are gone")
    after = asyncio.run(_normal(booted))
    row.figures = {
        "answer_before_s": spread(before, 3),
        "answer_beside_s": spread(beside, 3),
        "answer_after_s": spread(after, 3),
        "computed_after_s": round(computed, 2),
        "requests_unread_meanwhile": unread,
        "api_memory_grown_MiB": round(most["api"] - used["api"], 1),
        "freed_after_s": round(freed, 2),
    }
    slower = spread(beside)["p50"] / max(spread(before)["p50"], 0.01)
    row.demand(unread >= READERS, f"only {unread} were unread: the streams fit into the sockets")
    row.demand(slower < 2, f"a normal answer takes {slower:.1f} times as long beside them")
    row.demand(not any(each.error for each in full), f"{[each.error for each in full]}")
    before_p50, beside_p50 = spread(before, 3)["p50"], spread(beside, 3)["p50"]
    row.held = (
        f"others' answers: {beside_p50} s instead of {before_p50} s (median); all seats free "
        f"though {unread} streams are unread; {row.figures['api_memory_grown_MiB']} MiB for them"
    )
    row.recovery = f"{freed:.2f} s"
    return row
