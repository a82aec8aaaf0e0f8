"""Sends a comment into a stream that is silent, so that proxies do not take it for dead.

A long prompt is minutes without a byte; many proxies close a connection after 30 to 120 seconds.
Clients of server-sent events ignore lines that begin with a colon. One that does not (`vllm bench
serve` loses the whole answer after one) asks for none with the header `x-keep-alive: off`.
"""

import asyncio

from qwen3090_ops.api.asgi import App, Message, Receive, Scope, Send, header

COMMENT = b": keep-alive\n\n"
HEADER, OFF = b"x-keep-alive", b"off"
_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")
_TAIL = 4


class KeepAlive:
    """ASGI layer that keeps streams of events alive.

    Args:
        app: the server inside.
        interval: seconds of silence; 0 for never.
    """

    def __init__(self, app: App, interval: float) -> None:
        self._app, self._interval = app, interval

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a send that watches the stream."""
        if (
            scope["type"] != "http"
            or not self._interval
            or OFF in header(scope.get("headers", ()), HEADER)
        ):
            await self._app(scope, receive, send)
            return
        stream = _Stream(send, self._interval)
        try:
            await self._app(scope, receive, stream.send)
        finally:
            await stream.stop()


class _Stream:
    """One response; a comment goes out only between whole events."""

    def __init__(self, send: Send, interval: float) -> None:
        self._send, self._interval = send, interval
        self._lock = asyncio.Lock()
        self._spoke = asyncio.Event()
        self._tail = b""
        self._task: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """Pass a message of the server's on."""
        async with self._lock:
            await self._send(message)
            if message["type"] == "http.response.start" and _is_plain_stream(message):
                self._task = asyncio.create_task(self._keep())
            elif message["type"] == "http.response.body" and self._task is not None:
                self._tail = (self._tail + message.get("body", b""))[-_TAIL:]
                self._spoke.set()
                if not message.get("more_body", False):
                    self._task.cancel()

    async def stop(self) -> None:
        """End the comments, and wait until none is on its way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _keep(self) -> None:
        while True:
            self._spoke.clear()
            try:
                # Not wait_for: that of Python 3.11 loses a cancellation beside the event.
                async with asyncio.timeout(self._interval):
                    await self._spoke.wait()
                continue
            except TimeoutError:
                pass
            async with self._lock:
                if self._spoke.is_set() or (self._tail and not self._tail.endswith(_ENDS)):
                    continue
                try:
                    await self._send(
                        {"type": "http.response.body", "body": COMMENT, "more_body": True}
                    )
                except OSError:  # the client is gone; the server finds out by itself
                    return


def _is_plain_stream(start: Message) -> bool:
    """Return whether a response is a stream of events whose bytes may be added to."""
    headers = start.get("headers", ())
    kinds = header(headers, b"content-type")
    events = any(kind.lower().startswith(b"text/event-stream") for kind in kinds)
    fixed = header(headers, b"content-length") or header(headers, b"content-encoding")
    return events and not fixed
