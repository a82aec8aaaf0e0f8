"""Comments go into silent streams, between whole events, and nowhere else."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090_ops.api.asgi import Message, Receive, Scope, Send
from qwen3090_ops.api.keepalive import COMMENT, KeepAlive

from .fake import scope_of

SILENCE = 0.02
EVENTS = (b"content-type", b"text/event-stream; charset=utf-8")
Pieces = Sequence[bytes | float]


def server(pieces: Pieces, headers: Sequence[tuple[bytes, bytes]] = (EVENTS,)) -> object:
    """Return a server that sends pieces and sleeps for numbers of seconds."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        for piece in pieces:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            else:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


def sent(
    app: object, interval: float = SILENCE, asked: Sequence[tuple[bytes, bytes]] = ()
) -> list[bytes]:
    """Return the bodies that a client gets that sends these headers."""
    bodies: list[bytes] = []

    async def send(message: Message) -> None:
        assert not bodies or bodies[-1] is not None
        if message["type"] == "http.response.body":
            bodies.append(message["body"])

    async def main() -> None:
        layer = KeepAlive(app, interval)  # type: ignore[arg-type]
        await layer({**scope_of(), "headers": list(asked)}, asyncio.Event().wait, send)  # type: ignore[arg-type]
        assert len(asyncio.all_tasks()) == 1, "a task was left behind"

    asyncio.run(main())
    return bodies


def test_silence_before_the_first_event_and_between_events() -> None:
    bodies = sent(server([0.1, b"data: 1\n\n", 0.1, b"data: 2\n\n"]))
    first, second = bodies.index(b"data: 1\n\n"), bodies.index(b"data: 2\n\n")
    assert COMMENT in bodies[:first]
    assert COMMENT in bodies[first:second]
    assert bodies[-1] == b""
    assert b"".join(b for b in bodies if b != COMMENT) == b"data: 1\n\ndata: 2\n\n"


def test_no_comment_while_events_come() -> None:
    assert COMMENT not in sent(server([b"data: 1\n\n", 0.01] * 10), interval=0.5)


def test_a_client_may_ask_for_none() -> None:
    pieces = [b"data: 1\n\n", 0.1, b"data: 2\n\n"]
    assert COMMENT not in sent(server(pieces), asked=[(b"x-keep-alive", b"off")])
    assert COMMENT in sent(server(pieces), asked=[(b"x-keep-alive", b"on")])


def test_zero_is_never() -> None:
    assert COMMENT not in sent(server([0.1, b"data: 1\n\n"]), interval=0)


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-type", b"application/json")],
        [],
        [EVENTS, (b"content-length", b"9")],
        [EVENTS, (b"content-encoding", b"gzip")],
    ],
)
def test_other_answers_are_left_alone(headers: list[tuple[bytes, bytes]]) -> None:
    assert COMMENT not in sent(server([0.1, b"data: 1\n\n"], headers))


@settings(deadline=None, max_examples=15)
@given(st.sets(st.integers(1, 25)), st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]))
def test_never_inside_an_event(cuts: set[int], end: bytes) -> None:
    text = b"event: a" + end[: len(end) // 2] + b"data: 1" + end + b"data: 2" + end
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    pieces: list[bytes | float] = []
    for start, stop in itertools.pairwise(places):
        pieces += [text[start:stop], 0.006]
    got = b"".join(sent(server(pieces), interval=0.002))
    assert got.replace(COMMENT, b"") == text
    for before in got.split(COMMENT)[:-1]:
        assert not before or before.endswith(end) or not before.replace(COMMENT, b"")


def run_until(
    app: object, stop: Callable[[asyncio.Task[None]], Awaitable[None]], send: Send
) -> None:
    async def main() -> None:
        layer = KeepAlive(app, SILENCE)  # type: ignore[arg-type]
        waiting = asyncio.Event().wait
        task = asyncio.ensure_future(layer(scope_of(), waiting, send))  # type: ignore[arg-type]
        await stop(task)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"

    asyncio.run(main())


def test_cancelling_ends_the_comments() -> None:
    count = 0

    async def send(message: Message) -> None:
        nonlocal count
        count += 1

    async def stop(task: asyncio.Task[None]) -> None:
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        before = count
        await asyncio.sleep(0.1)
        assert count == before > 1

    run_until(server([10.0]), stop, send)


def test_a_client_that_is_gone_does_not_disturb_the_server() -> None:
    async def send(message: Message) -> None:
        if message.get("body") == COMMENT:
            raise OSError("gone")

    async def stop(task: asyncio.Task[None]) -> None:
        await task

    run_until(server([0.1, b"data: 1\n\n"]), stop, send)


def test_a_slow_client_gets_whole_messages_in_order() -> None:
    running, got = 0, []

    async def send(message: Message) -> None:
        nonlocal running
        running += 1
        assert running == 1, "two messages at once"
        await asyncio.sleep(0.03)
        got.append(message.get("body", b""))
        running -= 1

    async def stop(task: asyncio.Task[None]) -> None:
        await task

    run_until(server([b"data: 1\n\n", 0.05, b"data: 2\n\n", 0.05]), stop, send)
    assert [b for b in got if b not in (COMMENT, b"")] == [b"data: 1\n\n", b"data: 2\n\n"]
    assert got[-1] == b""
