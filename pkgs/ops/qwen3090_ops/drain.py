"""Refuses new requests while the server stops, and tells how many are being answered.

vLLM on its own takes requests while it stops, and answers them with nothing generated. A request
counts from its first byte to the last of its answer, so "none left" means that every stream ended.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from qwen3090_ops.progress import DRAIN, SERVER, Record, runtime_dir

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
RETRY_SECONDS = b"30"
REFUSAL = {
    "error": {
        "message": "The server is stopping: it finishes the requests it has and takes no new ones.",
        "type": "service_unavailable",
        "param": None,
        "code": 503,
    }
}


class Drain:
    """ASGI middleware (`--middleware`): counts POST requests, refuses them once asked to stop.

    Other methods (`/health`, `/metrics`, `/v1/models`) pass uncounted.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        folder = runtime_dir()
        self._drain = folder / DRAIN if folder else None
        self._record = Record(folder / SERVER if folder else None)
        self._active = 0
        self._tell()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer 503 or pass the request on."""
        if scope["type"] != "http" or scope.get("method") != "POST":
            await self._app(scope, receive, send)
            return
        # Counted before the look: whoever reads zero after asking to stop has seen all.
        self._active += 1
        self._tell()
        try:
            if self._drain is not None and self._drain.exists():
                await _refuse(send)
            else:
                await self._app(scope, receive, send)
        finally:
            self._active -= 1
            self._tell()

    def _tell(self) -> None:
        self._record.write({"active": self._active})


async def _refuse(send: Send) -> None:
    body = json.dumps(REFUSAL).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", RETRY_SECONDS),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
