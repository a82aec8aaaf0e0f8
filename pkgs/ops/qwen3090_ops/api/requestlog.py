"""Writes one line for each request that asked for something: what it took, never what it said."""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from qwen3090_ops.api.asgi import App, Message, Receive, Scope, Send, header
from qwen3090_ops.api.meter import METER, Meter, Total

logger = logging.getLogger("vllm.qwen3090.request")
# A request that ends by a stop string is counted a moment after its last byte.
SETTLE_SECONDS, SETTLE_TRIES = 0.05, 40


@dataclass
class Line:
    """What the line says.

    Attributes:
        route: method and path.
        start: when the request came, seconds, monotonic.
        status: of the response; 0 when none was begun.
        streaming: whether it was a stream of events.
        first_byte: when the first byte of the body went out.
        end: when it ended.
        aborted: whether the client left before that.
        total: what the engine counted.
    """

    route: str
    start: float
    status: int = 0
    streaming: bool = False
    first_byte: float = 0.0
    end: float = 0.0
    complete: bool = False
    aborted: bool = False
    total: Total | None = None

    def text(self, request_id: str, speculation: bool) -> str:
        """Return the line: `name=value` with seconds, so that other programs can read it."""
        words = [
            f"request {request_id or '-'} {self.route}",
            f"status={self.status or '-'}",
            f"stream={int(self.streaming)}",
        ]
        if self.total is not None:
            words += self._counts(self.total, speculation)
        words.append(f"total={self.end - self.start:.3f}")
        if self.aborted:
            words.append("aborted=1")
        return " ".join(words)

    def _counts(self, total: Total, speculation: bool) -> list[str]:
        words = [f"prompt={total.prompt}", f"cached={total.cached}", f"output={total.tokens}"]
        bytes_of_it = self.first_byte if self.streaming else 0.0
        first = min((moment for moment in (total.first, bytes_of_it) if moment), default=0.0)
        if total.tokens and first:
            words.append(f"ttft={max(0.0, first - self.start):.3f}")
        if (rate := total.decode_rate) is not None:
            words.append(f"decode_tok_s={rate:.1f}")
        if speculation and (per_step := total.tokens_per_step) is not None:
            words.append(f"tok_step={per_step:.2f}")
        return words


class RequestLog:
    """ASGI layer that logs.

    Args:
        app: the server inside.
        speculation: whether tokens a step are worth a word.
        meter: where the engine's counts are.
    """

    def __init__(self, app: App, *, speculation: bool, meter: Meter = METER) -> None:
        self._app, self._speculation, self._meter = app, speculation, meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, watching it; only POST asks for something."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        self._meter.attach(getattr(getattr(scope.get("app"), "state", None), "engine_client", None))
        # vLLM's routes leave the request's id here, also in copies of the scope.
        state: dict[str, Any] = scope.setdefault("state", {})
        line = Line(f"POST {_printable(scope['path'])}", time.monotonic())

        async def watch_receive() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not line.complete:
                line.aborted = True
                self._meter.look()  # before vLLM forgets it
            return message

        async def watch_send(message: Message) -> None:
            _note(line, message)
            try:
                await send(message)
            except OSError:
                line.aborted = True
                self._meter.look()
                raise

        try:
            await self._app(scope, watch_receive, watch_send)
        except asyncio.CancelledError:
            line.aborted = line.aborted or not line.complete
            raise
        finally:
            line.end = time.monotonic()
            self._write(line, state, SETTLE_TRIES)

    def _write(self, line: Line, state: dict[str, Any], tries: int) -> None:
        """Log the line, as soon as the engine's numbers are the last ones."""
        request_id = str(getattr(state.get("request_metadata"), "request_id", ""))
        if request_id:
            if line.aborted:
                self._meter.look()
            if tries and not self._meter.settled(request_id):
                again = (line, state, tries - 1)
                asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._write, *again)
                return
            line.total = self._meter.take(request_id)
        logger.info(line.text(request_id, self._speculation))


def _note(line: Line, message: Message) -> None:
    """Remember what a message of the response says."""
    if message["type"] == "http.response.start":
        line.status = message["status"]
        kinds = header(message.get("headers", ()), b"content-type")
        line.streaming = any(kind.startswith(b"text/event-stream") for kind in kinds)
    elif message["type"] == "http.response.body":
        if message.get("body") and not line.first_byte:
            line.first_byte = time.monotonic()
        line.complete = line.complete or not message.get("more_body", False)


def _printable(path: str) -> str:
    """Return a path as one word of a line: a client must not be able to write lines of its own."""
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in path[:200])
