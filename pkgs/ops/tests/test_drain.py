"""The middleware that counts requests and refuses them once the server stops; its record's form."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from qwen3090_ops import progress
from qwen3090_ops.drain import Drain

POST = {"type": "http", "method": "POST", "path": "/v1/completions"}


def active(folder: Path) -> int:
    data = (folder / progress.SERVER).read_bytes()
    assert len(data) == progress.LENGTH
    found = json.loads(data)
    assert found["seq"] == found["end"]
    return int(found["active"])


class Server:
    """An application that waits, and what was sent to the client."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.go = asyncio.Event()
        self.reached = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached += 1
        await self.go.wait()
        if scope["path"] == "/broken":
            raise RuntimeError("broken")
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(self, message: Any) -> None:
        self.sent.append(message)


async def receive() -> Any:
    raise AssertionError("a request's body is not the middleware's to read")


def test_requests_are_counted_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path))

    async def scenario() -> None:
        server = Server()
        drain = Drain(server)
        assert active(tmp_path) == 0
        both = [
            asyncio.create_task(drain(POST | {"path": path}, receive, server.send))
            for path in ("/v1/completions", "/broken")
        ]
        other = asyncio.create_task(drain({**POST, "method": "GET"}, receive, server.send))
        await asyncio.sleep(0)
        assert (server.reached, active(tmp_path)) == (3, 2)
        server.go.set()
        results = await asyncio.gather(*both, other, return_exceptions=True)
        assert [type(found) for found in results] == [type(None), RuntimeError, type(None)]
        assert active(tmp_path) == 0

    asyncio.run(scenario())


def test_a_stopping_server_refuses_new_requests_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path))

    async def scenario() -> None:
        server = Server()
        drain = Drain(server)
        old = asyncio.create_task(drain(POST, receive, server.send))
        await asyncio.sleep(0)
        (tmp_path / progress.DRAIN).touch()
        await drain(POST, receive, server.send)
        start, body = server.sent
        assert start["status"] == 503
        assert (b"retry-after", b"30") in start["headers"]
        assert json.loads(body["body"])["error"]["code"] == 503
        assert (server.reached, active(tmp_path)) == (1, 1)
        server.go.set()
        await old
        await drain({**POST, "method": "GET"}, receive, server.send)
        assert [message.get("status") for message in server.sent[2:]] == [200, 200]

    asyncio.run(scenario())


def test_without_a_supervisor_nothing_is_written_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(progress.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        server = Server()
        server.go.set()
        await Drain(server)(POST, receive, server.send)
        assert server.sent[0]["status"] == 200

    asyncio.run(scenario())
    assert list(tmp_path.iterdir()) == []


def test_a_record_is_replaced_whole_and_refused_when_too_long(tmp_path: Path) -> None:
    record = progress.Record(tmp_path / "r")
    record.write({"text": "x" * 500})
    record.write({"text": "y"})
    found = json.loads((tmp_path / "r").read_text())
    assert (found["seq"], found["end"], found["text"]) == (2, 2, "y")
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ValueError, match="progress record"):
        record.write({"text": "x" * progress.LENGTH})


def test_the_supervisor_uses_the_same_names() -> None:
    runtime = pytest.importorskip("qwen3090.serve.runtime")
    for name in ("VARIABLE", "ENGINE", "SERVER", "DRAIN", "LENGTH"):
        assert getattr(runtime, name) == getattr(progress, name), name
