"""Clients that vanish: how soon their seats are free, in each state that a request can be in."""

import json
import socket
import struct
import time
from collections.abc import Callable

from asking import COMPLETIONS, body
from booted import SEATS, Booted, until
from report import Row

QUEUED = 8


def _ask(booted: Booted, *, stream: bool, prompt: object, tokens: int) -> socket.socket:
    asked = body("", tokens) | {"stream": stream, "prompt": prompt}
    data = json.dumps(asked)
    head = [f"POST {COMPLETIONS} HTTP/1.1", "Host: here", f"Content-Length: {len(data)}"]
    head += [f"{name}: {value}" for name, value in booted.headers.items()]
    found = socket.create_connection(("127.0.0.1", booted.port))
    found.sendall(("\r\n".join(head) + "\r\n\r\n" + data).encode())
    return found


def _reset(connection: socket.socket) -> None:
    """Close with a reset, as a client does that was killed with data unread."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _leave(booted: Booted, stream: bool, close: Callable[[socket.socket], None]) -> float:
    """Fill the seats and a queue, leave, and return seconds until nothing runs or waits."""
    asked = [
        _ask(booted, stream=stream, prompt=[100] * 8, tokens=1900) for _ in range(SEATS + QUEUED)
    ]
    until(lambda: booted.progress()["running"] == SEATS, "every seat is taken")
    until(lambda: booted.progress()["waiting"] == QUEUED, "the others wait")
    time.sleep(0.5)
    for each in asked:
        close(each)
    return _free(booted)


def _free(booted: Booted) -> float:
    def empty() -> bool:
        found = booted.progress()
        return not found["running"] and not found["waiting"] and not booted.active()

    return until(empty, "seats and queue are empty")


def _leave_while_read(booted: Booted) -> float:
    """Leave while the prompts are computed."""
    asked = [
        _ask(booted, stream=True, prompt=[100 + number] * 2000, tokens=40)
        for number in range(SEATS)
    ]
    until(lambda: booted.progress()["busy_since"] is not None, "the prompts are computed")
    for each in asked:
        _reset(each)
    return _free(booted)


def run(booted: Booted, short: bool) -> Row:
    """Let clients of every kind vanish; the same times in the short run."""
    row = Row(
        "vanish",
        f"{SEATS} clients with a seat and {QUEUED} that wait vanish: streams and whole answers, "
        "closed and reset; also while their prompts are read",
    )
    generated = booted.progress()["generated_tokens"]
    row.figures = {
        "stream_closed_s": round(_leave(booted, True, socket.socket.close), 3),
        "stream_reset_s": round(_leave(booted, True, _reset), 3),
        "whole_closed_s": round(_leave(booted, False, socket.socket.close), 3),
        "whole_reset_s": round(_leave(booted, False, _reset), 3),
        "while_read_s": round(_leave_while_read(booted), 3),
    }
    slowest = max(float(str(each)) for each in row.figures.values())
    spent = booted.progress()["generated_tokens"] - generated
    row.figures["tokens_generated_of_asked"] = [spent, 4 * (SEATS + QUEUED) * 1900]
    row.demand(slowest < 5, f"seats were free only after {slowest:.1f} s")
    row.demand(spent < 0.5 * 4 * SEATS * 1900, f"{spent} tokens were generated for nobody")
    row.held = "every seat is free again and nobody's place in the queue is kept"
    row.lost = "the answers of those who left"
    row.recovery = f"{slowest:.2f} s"
    return row
