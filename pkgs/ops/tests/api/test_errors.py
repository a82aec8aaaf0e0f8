"""vLLM's refusals come out readable, short, and otherwise as they were."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090_ops.api.asgi import Receive, Scope, Send
from qwen3090_ops.api.errors import LONGEST, ClearErrors

from .fake import Answer, get, scope_of

LITERAL = (
    "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), "
    "'msg': \"Input should be 'none', 'low' or 'max'\", 'input': 'extreme', "
    "'ctx': {'expected': \"'none', 'low' or 'max'\"}}"
)


def body(message: Any) -> bytes:
    error = {"message": message, "type": "Bad Request", "param": "x", "code": 400}
    return json.dumps({"error": error}).encode()


def through(data: bytes, status: int = 400, kind: bytes = b"application/json") -> Answer:
    """Return what a client gets when a server answers this in two pieces."""

    async def server(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", kind), (b"content-length", b"7"), (b"x-other", b"1")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data[:5], "more_body": True})
        await send({"type": "http.response.body", "body": data[5:]})

    return get(ClearErrors(server, "served"), scope_of())


def test_a_value_that_is_not_allowed_is_named_with_those_that_are() -> None:
    answer = through(body(LITERAL))
    expected = "reasoning_effort = 'extreme': Input should be 'none', 'low' or 'max'"
    assert answer.error == {"message": expected, "type": "Bad Request", "param": "x", "code": 400}
    assert int(answer.header(b"content-length")) == len(answer.body)
    assert answer.header(b"x-other") == b"1"
    assert answer.status == 400


def test_a_long_value_is_not_repeated() -> None:
    text = LITERAL.replace("'extreme'", repr("secret " * 1000))
    assert len(through(body(text)).error["message"]) < 300


def test_several_problems_and_a_field_that_is_missing() -> None:
    lines = [
        "2 validation errors:",
        "  {'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {}}",
        "  {'type': 'int_type', 'loc': ('body', 'stop', 0), 'msg': 'no number', 'input': 'x'}",
        "  [POST /v1/chat/completions]",
    ]
    assert through(body("\n".join(lines))).error["message"] == (
        "messages: missing; stop.0 = 'x': no number"
    )


@pytest.mark.parametrize("status", [400, 404])
def test_an_unknown_model_is_answered_with_the_one_there_is(status: int) -> None:
    answer = through(body("The model `gpt-4` does not exist."), status)
    assert answer.error["message"] == (
        "The model `gpt-4` does not exist; this server serves `served`."
    )


def test_anthropics_errors_too() -> None:
    data = {"type": "error", "error": {"type": "x", "message": "The model `a` does not exist."}}
    answer = through(json.dumps(data).encode())
    assert json.loads(answer.body)["type"] == "error"
    assert "`served`" in answer.error["message"]


NOT_OURS = st.one_of(
    st.binary(max_size=50),
    st.text(max_size=50).map(lambda text: body("1 validation error:\n  {" + text)),
    st.sampled_from([b"", b"null", b"[]", b"{}", b'{"error": 1}', b'{"error": {"message": 1}}']),
    st.just(body("1 validation error:\n  " + "{'a':" * 500)),
    st.just(body("1 validation error:\n  __import__('os')")),
    st.just(body("x" * (LONGEST + 10))),
)


@given(NOT_OURS)
def test_what_is_not_understood_is_passed_on_unchanged(data: bytes) -> None:
    answer = through(data)
    assert answer.body == data
    assert answer.status == 400


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, b"application/json"), (500, b"application/json"), (400, b"text/event-stream")],
)
def test_other_answers_are_passed_on_at_once(status: int, kind: bytes) -> None:
    answer = through(body(LITERAL), status, kind)
    assert answer.body == body(LITERAL)
    assert len(answer.messages) == 3
