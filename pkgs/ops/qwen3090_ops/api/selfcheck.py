"""Proves without a server that the layer denies: `qwen3090 verify` asks through selftest.py."""

import asyncio
import json

from qwen3090_ops.api import settings
from qwen3090_ops.api.asgi import Message, Receive, Scope, Send
from qwen3090_ops.api.middleware import Api

_KEY = "a-key-of-this-check-alone"
_ROUTES = (("GET", "/metrics"), ("POST", "/invocations"), ("POST", "/v1/chat/completions"))


def denies() -> tuple[bool, str]:
    """Return whether routes are shut without a key and open with it, and what was found."""
    given = settings.Settings(
        keys=settings.FROM_VARIABLE,
        served_name="check",
        max_body_bytes=1024,
        max_json_depth=8,
        max_grammar_repeats=100,
        keep_alive_interval=0.0,
        request_log=False,
        speculation=False,
    )
    environ = {settings.VARIABLE: json.dumps(vars(given)), settings.KEYS_VARIABLE: _KEY}
    reached: list[Scope] = []

    async def server(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope)

    app = Api(server, environ)
    bearer = [(b"authorization", f"Bearer {_KEY}".encode())]
    for method, path in _ROUTES:
        status = asyncio.run(_ask(app, method, path, []))
        if status != 401 or reached:
            return False, f"{method} {path} without a key: {status}, and not 401"
    for method, path in _ROUTES:
        asyncio.run(_ask(app, method, path, bearer))
    if len(reached) != len(_ROUTES):
        return False, f"with the key {len(reached)} of {len(_ROUTES)} routes answer"
    return True, f"{len(_ROUTES)} routes: 401 without the key, open with it"


async def _ask(app: Api, method: str, path: str, headers: list[tuple[bytes, bytes]]) -> int:
    """Return the status of one request; 0 when there was no answer."""
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers}
    status = 0

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    await app(scope, receive, send)
    return status
