"""Bodies that are too long or too deep are refused, however they are cut, and others unchanged."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090_ops.api.limits import EMBEDDED, Limits
from qwen3090_ops.api.nesting import CODE, depth

from .fake import Inside, get, scope_of

MOST, DEEPEST, REPEATS = 1000, 6, 100


def limited() -> tuple[Limits, Inside]:
    inside = Inside()
    return Limits(inside, MOST, DEEPEST, REPEATS), inside


def refusal(body: bytes, *headers: tuple[bytes, bytes]) -> str:
    """Return the code of the refusal, or "" when the body came through as it was."""
    app, inside = limited()
    answer = get(app, scope_of(headers=headers), [body])
    if answer.status == 200:
        assert inside.bodies == [body]
        return ""
    assert not inside.scopes
    return f"{answer.status} {answer.error['code']}"


def reference(value: object) -> int:
    """Return the depth of a JSON value by walking it."""
    if isinstance(value, list):
        return 1 + max(map(reference, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(reference, value.values()), default=0)
    return 0


TRICKY = st.text(alphabet='[]{}"\\ a\n\u2028\u00e9', max_size=8)
JSON = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.none(), TRICKY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TRICKY, inner, max_size=3),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_the_depth_of_any_json(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert depth(text.encode()) == reference(value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"[[", 2),
        (b"]]][[", 0),
        (b'"[[["', 0),
        (b'"\\"[[["', 0),
        (b'"\\\\"[[', 2),
        (b'"unterminated [[[ \\', 0),
        (b'[{"a": [1]}, {"b": {}}]', 3),
        (b"", 0),
    ],
)
def test_the_depth_of_what_is_no_json(text: bytes, found: int) -> None:
    assert depth(text) == found


def test_the_depth_of_code_counts_round_brackets() -> None:
    assert depth(b'root ::= ((("a")))', CODE, strings=False) == 3


@pytest.mark.parametrize("unit", [b"[", b'"', b'\\"', b"[]", b'"\\'])
def test_no_body_takes_long(unit: bytes) -> None:
    started = time.perf_counter()
    depth(b'"' + unit * (2**20 // len(unit)))
    assert time.perf_counter() - started < 1.0


@given(st.lists(st.binary(max_size=400), min_size=1, max_size=8))
def test_the_length_counts_however_the_body_is_cut(chunks: list[bytes]) -> None:
    app, inside = limited()
    answer = get(app, scope_of(headers=[(b"content-type", b"multipart/form-data")]), chunks)
    body = b"".join(chunks)
    if len(body) > MOST:
        assert answer.status == 413
        assert answer.error["code"] == "request_too_large"
        assert str(MOST) in answer.error["message"]
        assert not inside.scopes
    else:
        assert inside.bodies == [body]


@pytest.mark.parametrize("value", [b"1001", b"0001001", b"9" * 5000])
def test_an_announced_length_is_refused_unread(value: bytes) -> None:
    assert refusal(b"{}", (b"content-length", value)) == "413 request_too_large"


@pytest.mark.parametrize("value", [b"1000", b"-1", b"x", b""])
def test_other_announcements_are_left_to_the_server(value: bytes) -> None:
    assert refusal(b"{}", (b"content-length", value)) == ""


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_the_depth_of_the_body() -> None:
    assert refusal(nested(DEEPEST)) == ""
    assert refusal(nested(DEEPEST + 1)) == "400 invalid_json"
    assert refusal(b"[" * MOST) == "400 invalid_json"
    assert refusal(nested(100), (b"content-type", b"text/plain")) == "400 invalid_json"


@pytest.mark.parametrize("name", sorted(EMBEDDED))
def test_the_depth_of_text_that_is_parsed_later(name: str) -> None:
    bracket = "(" if EMBEDDED[name] is CODE else "["
    for key in (json.dumps(name), f'"\\u{ord(name[0]):04x}{name[1:]}"'):
        text = '{"x":[{' + key + ":" + json.dumps(bracket * (DEEPEST + 1)) + "}]}"
        assert refusal(text.encode()) == "400 invalid_json"
    assert refusal(json.dumps({name: bracket * DEEPEST}).encode()) == ""


def test_a_prompt_may_hold_what_it_likes() -> None:
    message = {"role": "user", "content": "[" * 500}
    assert refusal(json.dumps({"messages": [message], "prompt": "((((((((("}).encode()) == ""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_encodings_that_would_hide_brackets(encoding: str) -> None:
    assert refusal('{"\u0122": [[[[[[[[]]]]]]]]}'.encode(encoding)) == "400 invalid_json"


def test_what_is_no_json_is_left_to_the_server() -> None:
    for body in (b"", b"x", b"{", b"\xff", b'{"a": 1e999999}', b"[" * 3):
        assert refusal(body) == ""


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_methods_without_a_body(method: str) -> None:
    app, inside = limited()
    assert get(app, scope_of(method=method)).status == 200
    assert len(inside.scopes) == 1


def test_a_client_that_leaves_while_it_sends_reaches_nobody() -> None:
    import asyncio

    app, inside = limited()
    pending = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, object]:
        return pending.pop(0)

    async def send(message: object) -> None:
        raise AssertionError(message)

    asyncio.run(app(scope_of(), receive, send))  # type: ignore[arg-type]
    assert not inside.scopes


def test_a_disconnect_after_the_body_is_passed_on() -> None:
    import asyncio

    seen: list[str] = []

    async def server(scope: object, receive: object, send: object) -> None:
        seen.extend([(await receive())["type"] for _ in range(2)])  # type: ignore[operator]

    pending = [{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}]

    async def receive() -> dict[str, object]:
        return pending.pop(0)  # type: ignore[return-value]

    app = Limits(server, MOST, DEEPEST, REPEATS)  # type: ignore[arg-type]
    asyncio.run(app(scope_of(), receive, receive))  # type: ignore[arg-type]
    assert seen == ["http.request", "http.disconnect"]
