"""Lets a request through only with a key; everything is denied that is not named here.

vLLM's own check looks at the beginning of the path and leaves the rest of the server open:
/metrics, /tokenize, /docs, and /invocations, which generates text.
"""

import logging
import time
from collections.abc import Callable

from qwen3090_ops.api.asgi import App, Receive, Scope, Send, answer, error_body, header
from qwen3090_ops.api.keys import Keyring

logger = logging.getLogger("vllm.qwen3090.api")

# Health says nothing but that the server lives; exact paths, so that no spelling opens another.
OPEN = frozenset({("GET", "/health"), ("HEAD", "/health"), ("GET", "/ping")})
# Where clients of the Anthropic API send their key in a header of its own.
X_API_KEY = frozenset({"/v1/messages", "/v1/messages/count_tokens"})
LOG_SECONDS = 10.0
_BODY = error_body(
    "No valid API key: send the header 'Authorization: Bearer KEY'.",
    "invalid_request_error",
    "invalid_api_key",
)


def presented(scope: Scope) -> list[bytes]:
    """Return the words of a request that may be keys; none when there are two of one header."""
    words = []
    bearers = header(scope["headers"], b"authorization")
    if len(bearers) == 1:
        scheme, _, word = bearers[0].partition(b" ")
        if scheme.lower() == b"bearer":
            words.append(word.strip(b" \t"))
    others = header(scope["headers"], b"x-api-key")
    if len(others) == 1 and scope["path"] in X_API_KEY:
        words.append(others[0])
    return words


def is_open(scope: Scope) -> bool:
    """Return whether a request needs no key: health, and a browser's question before a request.

    Only what the CORS layer inside answers itself counts as that question; any other OPTIONS
    request would reach a route (of /metrics, in vLLM 0.28.0, with the metrics as the answer).
    """
    if scope["type"] != "http":
        return False
    if scope["method"] == "OPTIONS":
        names = (b"origin", b"access-control-request-method")
        return all(header(scope["headers"], name) for name in names)
    return (scope["method"], scope["path"]) in OPEN


class Guard:
    """ASGI layer that denies.

    Args:
        app: the server inside.
        keyring: what opens it; None lets everything through.
        clock: seconds, monotonic.
    """

    def __init__(
        self, app: App, keyring: Keyring | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._keyring, self._clock = app, keyring, clock
        self._logged, self._unlogged = -LOG_SECONDS, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 (a websocket is closed before it is accepted)."""
        # "lifespan" comes from the server itself; a kind that is not known is a request.
        free = scope["type"] == "lifespan" or self._keyring is None or is_open(scope)
        if free or (self._keyring is not None and self._keyring.opens(presented(scope))):
            await self._app(scope, receive, send)
            return
        self._log(scope)
        if scope["type"] == "http":
            await answer(send, 401, _BODY, [(b"www-authenticate", b"Bearer")])
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "no valid API key"})

    def _log(self, scope: Scope) -> None:
        """Say who was denied: a line in ten seconds, and never a word that the client chose."""
        now = self._clock()
        if now - self._logged < LOG_SECONDS:
            self._unlogged += 1
            return
        more = f" ({self._unlogged} more since the last such line)" if self._unlogged else ""
        peer = (scope.get("client") or ("unknown", 0))[0]
        self._logged, self._unlogged = now, 0
        logger.warning("denied a request without a valid API key from %s%s", peer, more)
