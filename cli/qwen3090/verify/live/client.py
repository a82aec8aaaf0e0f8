"""A small HTTP client for one server; no proxy settings are read, and the key is never printed."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from qwen3090.config import ServeConfig
from qwen3090.serve.probe import ANY

TIMEOUT_S = 30.0


class Client:
    """Talks to one server.

    Args:
        url: ``http://host:port``; a path in it is kept as a prefix.
        key: bearer key, or None.
    """

    def __init__(self, url: str, key: str | None) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        self.url, self.key = parts.geturl().rstrip("/"), key
        self._prefix = parts.path.rstrip("/")
        secure = parts.scheme == "https"
        self._connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port

    def get(self, path: str, *, key: str | None = "", timeout: float = TIMEOUT_S) -> "Answer":
        """GET a path with the client's key, another one, or none (None)."""
        return self._ask("GET", path, None, key, timeout)

    def post(self, path: str, body: dict[str, Any], timeout: float = 600.0) -> "Answer":
        """POST a JSON body with the client's key."""
        return self._ask("POST", path, json.dumps(body), "", timeout)

    def _ask(
        self, method: str, path: str, body: str | None, key: str | None, timeout: float
    ) -> "Answer":
        headers = {"Content-Type": "application/json"} if body else {}
        bearer = self.key if key == "" else key
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        connection = self._connect(self._host, self._port, timeout=timeout)
        try:
            connection.request(method, self._prefix + path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, str(error) or type(error).__name__)
        finally:
            connection.close()


class Answer:
    """Status (0: there was no answer) and body of a response."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text

    def json(self) -> Any:
        """Return the parsed body, None when it is no JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.status or 'no answer'} {self.text[:200]}".strip()


def url_of(config: ServeConfig) -> str:
    """Return where a configuration's server listens, seen from this machine."""
    host = config.host.strip("[]")
    host = ANY.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{config.port}"
