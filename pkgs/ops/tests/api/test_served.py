"""The layers around the real engine: `qwen3090 serve` with a file of two keys."""

import http.client
import json
import re
from typing import Any

import pytest

from .fake import KEY, OTHER
from .served import CHAT, MODEL, Client, events

pytestmark = [pytest.mark.engine, pytest.mark.slow]

WORD = "xylophone"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("GET", "/metrics"),
        ("GET", "/docs"),
        ("OPTIONS", "/metrics"),
        ("POST", "/invocations"),
        ("POST", "/tokenize"),
        ("GET", "/qwen3090/engine"),
        ("GET", "//health"),
        ("GET", "/health/../v1/models"),
    ],
)
def test_without_a_key(client: Client, method: str, path: str) -> None:
    for key in (None, "wrong-key-of-16-characters", KEY[:-1]):
        status, body = client.ask(method, path, key=key)
        assert status == 401
        assert json.loads(body)["error"]["code"] == "invalid_api_key"


def test_health_without_and_the_rest_with_either_key(client: Client) -> None:
    assert client.ask("GET", "/health", key=None)[0] == 200
    assert client.ask("GET", "/ping", key=None)[0] == 200
    for key in (KEY, OTHER):
        assert client.ask("GET", "/metrics", key=key)[0] == 200
    body = {"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    assert client.ask("POST", "/v1/messages", body, key=None, **{"x-api-key": OTHER})[0] == 200


def test_a_websocket_is_refused(client: Client) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert client.ask("GET", "/v1/realtime", key=None, **upgrade)[0] == 403


def test_the_line_of_a_request(client: Client) -> None:
    found = client.chat(max_tokens=40, messages=[{"role": "user", "content": WORD}])
    line = client.line(found["id"])
    usage = found["usage"]
    assert f"POST {CHAT} status=200 stream=0 " in line
    assert f" prompt={usage['prompt_tokens']} cached=0 output={usage['completion_tokens']} " in line
    for word in ("ttft", "decode_tok_s", "tok_step", "total"):
        assert re.search(rf" {word}=\d+\.\d+", line), line
    log = client.log.read_text()
    assert WORD not in log
    assert KEY not in log
    assert OTHER not in log


def test_a_stop_string_is_counted_to_the_end(client: Client) -> None:
    text = client.chat(max_tokens=40)["choices"][0]["message"]
    stop = (text["reasoning"] or text["content"])[8:12]
    found = client.chat(max_tokens=40, stop=[stop])
    assert f" output={found['usage']['completion_tokens']} " in client.line(found["id"])


def test_several_answers_of_one_request(client: Client) -> None:
    found = client.chat(max_tokens=8, n=3, temperature=0.8, ignore_eos=True)
    line = client.line(found["id"])
    assert f" prompt={found['usage']['prompt_tokens']} " in line
    assert " output=24 " in line


def test_a_client_that_leaves(client: Client) -> None:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "go on"}],
        "max_tokens": 1900,
        "ignore_eos": True,
        "stream": True,
    }
    connection, response = client.open("POST", CHAT, body)
    first = next(events(response))
    for _ in range(20):
        response.readline()
    response.close()
    connection.close()
    line = client.line(first["id"])
    assert line.endswith("aborted=1")
    output = int(re.findall(r" output=(\d+) ", line)[0])
    assert 1 < output < 1900
    assert client.ask("GET", "/health")[0] == 200


def test_comments_while_a_prompt_is_read(client: Client) -> None:
    body = {"model": MODEL, "prompt": [100] * 2000, "max_tokens": 2, "stream": True}
    _, response = client.open("POST", "/v1/completions", body)
    lines = list(response)
    comments = [number for number, line in enumerate(lines) if line == b": keep-alive\n"]
    data = [number for number, line in enumerate(lines) if line.startswith(b"data: ")]
    assert comments
    assert comments[0] < data[0]
    assert lines[data[-1]] == b"data: [DONE]\n"
    assert all(lines[number + 1] == b"\n" for number in comments + data)


def error(client: Client, path: str = CHAT, **body: Any) -> tuple[int, str]:
    request = {"model": MODEL, "messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
    status, text = client.ask("POST", path, request | body)
    return status, json.loads(text)["error"]["message"]


def test_refusals_are_clear(client: Client) -> None:
    allowed = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'"
    expected = f"reasoning_effort = 'extreme': Input should be {allowed}"
    assert error(client, reasoning_effort="extreme") == (400, expected)
    expected = f"The model `gpt-4` does not exist; this server serves `{MODEL}`."
    assert error(client, model="gpt-4") == (404, expected)
    assert error(client, "/v1/messages", model="gpt-4") == (404, expected)
    status, text = error(client, max_tokens=5000)
    assert status == 400
    assert "5000" in text
    assert "2048" in text
    status, text = error(client, "/v1/completions", prompt=[100] * 2040, max_tokens=100)
    assert status == 400
    for number in ("2040", "100", "2048"):
        assert number in text, text


def test_a_body_that_nests_too_deep(client: Client) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(30):
        schema = {"type": "array", "items": schema}
    kind = {"type": "json_schema", "json_schema": {"name": "deep", "schema": schema}}
    status, text = error(client, response_format=kind)
    assert status == 400
    assert "levels deep; at most 20 are allowed" in text
    status, text = error(client, structured_outputs={"json": json.dumps(schema)})
    assert status == 400
    assert "The text in 'json' nests 31 levels deep" in text


def test_a_body_that_is_too_long_also_in_chunks(client: Client) -> None:
    assert client.ask("POST", CHAT, b" " * 65537)[0] == 413
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    chunks = (b" " * 10_000 for _ in range(10))
    connection.request("POST", CHAT, chunks, headers, encode_chunked=True)
    response = connection.getresponse()
    assert response.status == 413
    assert b"65536" in response.read()
    assert client.ask("GET", "/v1/models")[0] == 200
