"""A server to put layers around, and a client that speaks ASGI with it: no socket, no vLLM."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from qwen3090_ops.api.asgi import App, Message, Receive, Scope, Send

KEY = "key-number-one-0123456789"
OTHER = "key-number-two-0123456789"


@dataclass
class Answer:
    """What came back."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.messages[1:])

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found

    def header(self, name: bytes) -> bytes:
        (value,) = [v for k, v in self.messages[0]["headers"] if k == name]
        return bytes(value)


class Inside:
    """A server that remembers the requests that reached it and the bodies it read."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})


def scope_of(
    path: str = "/v1/chat/completions",
    method: str = "POST",
    headers: Iterable[tuple[bytes, bytes]] = (),
    kind: str = "http",
) -> Scope:
    """Return a scope as uvicorn makes it."""
    scope: Scope = {
        "type": kind,
        "path": path,
        "headers": list(headers),
        "client": ("192.0.2.7", 4711),
    }
    return scope | ({"method": method} if kind == "http" else {})


async def ask(app: App, scope: Scope, chunks: Iterable[bytes] = (b"",)) -> Answer:
    """Send one request, its body in these chunks; a client that waits afterwards stays."""
    pending = [{"type": "http.request", "body": c, "more_body": True} for c in chunks]
    if pending:
        pending[-1]["more_body"] = False
    answer = Answer()

    async def receive() -> Message:
        if pending:
            return pending.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        answer.messages.append(message)

    await app(scope, receive, send)
    return answer


def get(app: App, scope: Scope, chunks: Iterable[bytes] = (b"",)) -> Answer:
    """Do the same without an event loop."""
    return asyncio.run(ask(app, scope, chunks))
