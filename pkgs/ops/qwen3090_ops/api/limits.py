"""Refuses a body that is too long, nests too deep or repeats too much, before vLLM reads it.

vLLM 0.28.0 has no limit of its own, and the grammar of a JSON schema takes its only event loop a
time that grows with the third power of the depth, 8 s at 400 levels, and with the square of a
pattern's repetitions, 14 s at 7,000. Much deeper schemas end in a recursion error, and one that
refers to nothing but itself in an error of the engine.
"""

import json

from qwen3090_ops.api.asgi import App, Message, Receive, Scope, Send, answer, error_body, header
from qwen3090_ops.api.nesting import CODE, JSON, depth
from qwen3090_ops.api.repeats import circular, counts

# Text fields that vLLM or its grammar compiler parses, and the brackets that nest in them.
EMBEDDED = {
    "json": JSON,
    "structural_tag": JSON,
    "arguments": JSON,
    "grammar": CODE,
    "regex": CODE,
    "pattern": CODE,
}
BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
KIND = "invalid_request_error"


class _TooDeepError(ValueError):
    """A text field nests too deep; the argument names it."""


class Limits:
    """ASGI layer that reads the body, judges it, and passes it on in one piece.

    Args:
        app: the server inside.
        max_body_bytes: longest body.
        max_json_depth: deepest nesting, of the body and of a text field that holds JSON.
        max_grammar_repeats: most that the counts in all its patterns and schemas may unfold to.
    """

    def __init__(
        self, app: App, max_body_bytes: int, max_json_depth: int, max_grammar_repeats: int
    ) -> None:
        self._app, self._most, self._deepest = app, max_body_bytes, max_json_depth
        self._repeats = max_grammar_repeats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 413 or 400."""
        if scope["type"] != "http" or scope["method"] in BODILESS:
            await self._app(scope, receive, send)
            return
        announced = header(scope["headers"], b"content-length")
        if any(value.isdigit() and int(value[:20]) > self._most for value in announced):
            await self._too_long(send)
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > self._most:
                await self._too_long(send)
                return
            if not message.get("more_body", False):
                break
        if problem := self._problem(scope, bytes(body)):
            await answer(send, 400, error_body(problem, KIND, "invalid_json"))
            return
        await self._app(scope, _replay(bytes(body), receive), send)

    async def _too_long(self, send: Send) -> None:
        text = f"The body is longer than {self._most} bytes (max_body_bytes of this server)."
        await answer(send, 413, error_body(text, KIND, "request_too_large"))

    def _problem(self, scope: Scope, body: bytes) -> str:
        """Return what is wrong with a body, or ""; whatever is not JSON is left to vLLM."""
        kinds = header(scope["headers"], b"content-type")
        if any(kind.lower().startswith(b"multipart/") for kind in kinds):
            return ""
        if b"\0" in body:  # in UTF-16 every bracket has one, and its strings cannot be skipped here
            return "The body must be JSON in UTF-8."
        found = depth(body)
        if found > self._deepest:
            return f"The body nests {found} levels deep; {self._allowed()}."
        try:
            found_body = json.loads(body, object_pairs_hook=self._pairs)
        except _TooDeepError as error:
            return f"{error}; {self._allowed()}."
        except ValueError:
            return ""
        return self._repeated(found_body)

    def _repeated(self, body: object) -> str:
        """Return which counts of a body are too many, or which reference has no end, or ""."""
        total = 0
        for place, text, count in counts(body):
            total += count
            if total > self._repeats:
                return (
                    f"{place} = {text}: with repetitions unfolded, the grammars have {total} "
                    f"parts up to here; at most {self._repeats} are allowed in a request "
                    "(max_grammar_repeats of this server)."
                )
        if reference := circular(body):
            return f"$ref = {reference}: leads back to itself, so the schema says nothing."
        return ""

    def _allowed(self) -> str:
        return f"at most {self._deepest} are allowed (max_json_depth of this server)"

    def _pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Return one object; its text fields are looked at, also those that a later one hides."""
        for name, value in pairs:
            if isinstance(value, str) and name in EMBEDDED:
                brackets = EMBEDDED[name]
                text = value.encode(errors="replace")
                found = depth(text, brackets, strings=brackets is JSON)
                if found > self._deepest:
                    raise _TooDeepError(f"The text in '{name}' nests {found} levels deep")
        return dict(pairs)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive that yields the body once, then what the server has."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again
