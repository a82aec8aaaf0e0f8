"""Nothing gets in without a key: no path, method, header case or kind of connection."""

import json
import logging
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen3090_ops.api.guard import OPEN, X_API_KEY, Guard
from qwen3090_ops.api.keys import Keyring

from .fake import KEY, OTHER, Inside, get, scope_of

BEARER = (b"authorization", f"Bearer {KEY}".encode())
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "FOO"]
PIECES = ["health", "ping", "v1", "models", "..", ".", "", "HEALTH", "metrics", "%2e%2e", "h\0"]


def guarded(*keys: str) -> tuple[Guard, Inside]:
    inside = Inside()
    return Guard(inside, Keyring(keys or (KEY, OTHER))), inside


def denied(path: str, method: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> bool:
    app, inside = guarded()
    answer = get(app, scope_of(path, method, headers))
    assert (answer.status == 401) == (not inside.scopes)
    return answer.status == 401


@given(st.lists(st.sampled_from(PIECES), max_size=5), st.sampled_from(METHODS))
def test_every_spelling_of_every_path_is_denied(pieces: list[str], method: str) -> None:
    path = "/" + "/".join(pieces)
    assert denied(path, method) == ((method, path) not in OPEN)


@given(st.text(max_size=30), st.sampled_from(METHODS))
def test_any_text_as_a_path_is_denied(path: str, method: str) -> None:
    assert denied(path, method) == ((method, path) not in OPEN)


@pytest.mark.parametrize(
    "path", ["/health/", "//health", "/Health", "/health?x=1", "/health/../v1/models", "/ping/x"]
)
def test_what_looks_like_health_is_not(path: str) -> None:
    assert denied(path, "GET")


@pytest.mark.parametrize(("method", "path"), sorted(OPEN))
def test_health_needs_no_key(method: str, path: str) -> None:
    assert not denied(path, method)
    assert denied(path, "POST")


@given(
    st.sampled_from(["authorization", "Authorization", "AUTHORIZATION", "aUTHorization"]),
    st.sampled_from(["Bearer", "bearer", "BEARER"]),
    st.sampled_from([" ", "  ", " \t"]),
    st.sampled_from([KEY, OTHER]),
)
def test_either_key_opens(name: str, scheme: str, blanks: str, key: str) -> None:
    assert not denied("/v1/models", "GET", [(name.encode(), f"{scheme}{blanks}{key} ".encode())])


WRONG = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([KEY[:-1], KEY + "x", KEY.upper(), f"{KEY},{OTHER}", f'"{KEY}"', ""]).map(
        lambda word: f"Bearer {word}".encode()
    ),
    st.sampled_from(["Basic", "Token", "", "Bearer:"]).map(lambda s: f"{s} {KEY}".encode()),
)


@given(WRONG)
def test_nothing_else_opens(value: bytes) -> None:
    assert denied("/v1/models", "GET", [(b"authorization", value)])


def test_two_authorization_headers_are_none() -> None:
    assert denied("/v1/models", "GET", [BEARER, (b"authorization", b"Bearer x")])
    assert denied("/v1/models", "GET", [BEARER, BEARER])


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/v1/models"])
def test_the_header_of_anthropics_clients(path: str) -> None:
    assert denied(path, "POST", [(b"x-api-key", KEY.encode())]) == (path not in X_API_KEY)
    assert denied(path, "POST", [(b"x-api-key", b"wrong")])
    both = [(b"x-api-key", KEY.encode()), (b"authorization", b"Bearer of-another-service")]
    assert denied(path, "POST", both) == (path not in X_API_KEY)


def test_a_preflight_passes_and_no_other_options() -> None:
    origin, method = (b"origin", b"http://x"), (b"access-control-request-method", b"POST")
    assert not denied("/v1/chat/completions", "OPTIONS", [origin, method])
    for headers in ([], [origin], [method]):
        assert denied("/metrics", "OPTIONS", headers)
    assert denied("/metrics", "POST", [origin, method])


@pytest.mark.parametrize("path", ["/v1/realtime", "/health", "/ping"])
def test_websockets_need_the_key_everywhere(path: str) -> None:
    app, inside = guarded()
    answer = get(app, scope_of(path, kind="websocket"))
    assert answer.messages == [
        {"type": "websocket.close", "code": 1008, "reason": "no valid API key"}
    ]
    assert not inside.scopes
    get(app, scope_of(path, kind="websocket", headers=[BEARER]))
    assert len(inside.scopes) == 1


def test_kinds_of_connection_that_do_not_exist_yet_are_denied() -> None:
    app, inside = guarded()
    assert not get(app, scope_of("/v1/models", kind="webtransport")).messages
    assert not inside.scopes


def test_the_servers_own_start_passes() -> None:
    app, inside = guarded()
    get(app, {"type": "lifespan"})
    assert len(inside.scopes) == 1


def test_the_answer_is_openais() -> None:
    app, _ = guarded()
    answer = get(app, scope_of("/v1/models", "GET"))
    assert answer.header(b"www-authenticate") == b"Bearer"
    assert answer.header(b"content-type") == b"application/json"
    assert int(answer.header(b"content-length")) == len(answer.body)
    assert set(json.loads(answer.body)) == {"error"}
    assert answer.error["code"] == "invalid_api_key"
    assert set(answer.error) == {"message", "type", "param", "code"}


def test_without_keys_everything_passes() -> None:
    inside = Inside()
    assert get(Guard(inside, None), scope_of("/metrics", "GET")).status == 200


def test_denials_are_logged_rarely_and_without_the_clients_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [100.0]
    app = Guard(Inside(), Keyring([KEY]), clock=lambda: now[0])
    word = b"Bearer almost-the-key-0123456789"
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            get(app, scope_of("/v1/secret-path", "GET", [(b"authorization", word)]))
        now[0] += 11
        get(app, scope_of("/v1/secret-path", "GET"))
    first, second = caplog.messages
    assert "192.0.2.7" in first
    assert "49 more" in second
    assert "secret-path" not in caplog.text
    assert "almost" not in caplog.text


def test_every_key_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match must not end the comparison: its time would tell which key it was."""
    from qwen3090_ops.api import keys

    compared: list[bytes] = []
    real = keys.hmac.compare_digest
    monkeypatch.setattr(keys.hmac, "compare_digest", lambda a, b: compared.append(b) or real(a, b))
    assert Keyring([KEY, OTHER]).opens([KEY.encode()])
    assert len(compared) == 2
