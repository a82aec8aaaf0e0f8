"""A client of a served engine, for the tests that boot one."""

import http.client
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .fake import KEY

MODEL = "served-here"
CHAT = "/v1/chat/completions"


class Client:
    """Speaks HTTP with the server, by hand where it matters."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self.log = port, log

    def open(
        self, method: str, path: str, body: Any = None, key: str | None = KEY, **headers: str
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request and return the connection and the response, whose body is unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        sent = {"Content-Type": "application/json"} if data is not None else {}
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        connection.request(method, path, data, sent | headers)
        return connection, connection.getresponse()

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, bytes]:
        """Send a request and return status and body."""
        connection, response = self.open(method, path, body, **more)
        try:
            return response.status, response.read()
        finally:
            connection.close()

    def chat(self, **body: Any) -> dict[str, Any]:
        """Have a chat completion and return it."""
        messages = [{"role": "user", "content": "hello"}]
        status, text = self.ask("POST", CHAT, {"model": MODEL, "messages": messages, **body})
        assert status == 200, text
        found: dict[str, Any] = json.loads(text)
        return found

    def line(self, request_id: str) -> str:
        """Wait for the line of a request in the log, and return it."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if found := re.search(rf"request {re.escape(request_id)} .*", self.log.read_text()):
                return found[0]
            time.sleep(0.1)
        raise AssertionError(f"no line of {request_id}:\n{self.log.read_text()[-3000:]}")


def events(lines: Any) -> Iterator[dict[str, Any]]:
    """Yield the JSON of a stream's events."""
    for line in lines:
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])
