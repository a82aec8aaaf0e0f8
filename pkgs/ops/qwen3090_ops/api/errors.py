"""Makes vLLM's refusals readable: which field, what was given, what is allowed.

vLLM 0.28.0 answers a value it does not know with the text of a Python dictionary, the whole input
in it, and an unknown model without the name of the one that is served.
"""

import ast
import json
import re
from typing import Any

from qwen3090_ops.api.asgi import App, Headers, Message, Receive, Scope, Send, header

LONGEST = 65536  # bytes of an error body that is looked at
SHOWN = 80  # characters of a refused value that are repeated
_COUNT = re.compile(r"\d+ validation errors?:\n")
_NO_MODEL = re.compile(r"The model `(.{0,200})` does not exist\.")


class ClearErrors:
    """ASGI layer that rewrites the message of a 400 or 404.

    Args:
        app: the server inside.
        served_name: the model's name in the API.
    """

    def __init__(self, app: App, served_name: str) -> None:
        self._app, self._name = app, served_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; hold an error back until it is whole."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def look(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_error(message):
                start = message
                return
            if start is None or message["type"] != "http.response.body":
                await send(message)
                return
            body.extend(message.get("body", b""))
            more = message.get("more_body", False)
            if more and len(body) <= LONGEST:
                return
            held, start = start, None
            whole = bytes(body) if more else self.rewrite(bytes(body))
            length = [(b"content-length", str(len(whole)).encode())]
            kept = [pair for pair in held["headers"] if pair[0].lower() != b"content-length"]
            await send({**held, "headers": held["headers"] if more else kept + length})
            await send({**message, "body": whole})

        await self._app(scope, receive, look)

    def rewrite(self, body: bytes) -> bytes:
        """Return an error body with a clear message; what is not understood stays as it is."""
        try:
            answer = json.loads(body)
            error = answer["error"]
            message = error["message"]
            clear = self._clear(message)
        except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError):
            return body
        if clear == message:
            return body
        error["message"] = clear
        return json.dumps(answer).encode()

    def _clear(self, message: str) -> str:
        if found := _NO_MODEL.fullmatch(message):
            return f"The model `{found[1]}` does not exist; this server serves `{self._name}`."
        if counted := _COUNT.match(message):
            lines = message[counted.end() :].splitlines()
            # The last line may name the endpoint: "  [POST /v1/...]" is vLLM's, not a problem.
            found_problems = [line.strip() for line in lines if line.strip().startswith("{")]
            return "; ".join(dict.fromkeys(_problem(text) for text in found_problems)) or message
        return message


def _problem(text: str) -> str:
    """Return one validation problem in words: `field = value: what is allowed`."""
    detail: dict[str, Any] = ast.literal_eval(text)
    place = [str(part) for part in detail.get("loc", ()) if part != "body"]
    name = ".".join(place) or "the body"
    given = repr(detail.get("input"))
    if detail.get("type") == "missing":
        return f"{name}: missing"
    shown = given if len(given) <= SHOWN else f"{given[:SHOWN]}..."
    return f"{name} = {shown}: {detail.get('msg', 'not valid')}"


def _is_error(start: Message) -> bool:
    """Return whether a response is one whose message may be rewritten."""
    headers: Headers = start.get("headers", ())
    kinds = header(headers, b"content-type")
    plain = not header(headers, b"content-encoding")
    json_text = any(kind.lower().startswith(b"application/json") for kind in kinds)
    return start["status"] in (400, 404) and json_text and plain
