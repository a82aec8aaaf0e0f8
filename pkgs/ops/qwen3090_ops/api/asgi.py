"""The ASGI types and the one way in which this package answers a request by itself."""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


def header(headers: Headers, name: bytes) -> list[bytes]:
    """Return every value of a header, its name in lower case, outer blanks taken off."""
    return [value.strip(b" \t") for key, value in headers if key.lower() == name]


def error_body(message: str, kind: str, code: str, param: str | None = None) -> bytes:
    """Return an error as OpenAI's API has it: JSON, UTF-8."""
    error: Mapping[str, str | None] = {
        "message": message,
        "type": kind,
        "param": param,
        "code": code,
    }
    return json.dumps({"error": error}).encode()


async def answer(send: Send, status: int, body: bytes, headers: Headers = ()) -> None:
    """Send one whole JSON response."""
    fixed = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
