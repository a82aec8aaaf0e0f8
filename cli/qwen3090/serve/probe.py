"""Asks the engine over HTTP: is it alive (/health), and can it generate a token."""

import http.client
import json
from dataclasses import dataclass
from typing import Any

from qwen3090.config.model import ServeConfig

# Listening everywhere: ask this machine.
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104

COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Answer:
    """The engine's answer to a probe; ``detail`` says what was wrong when not ``ok``."""

    ok: bool
    detail: str = ""


class Probe:
    """Talks to one engine. No proxy settings are read.

    Args:
        config: host, port and model name.
        key: bearer key, or None.
    """

    def __init__(self, config: ServeConfig, key: str | None) -> None:
        host = config.host.strip("[]")
        self.host, self.port = ANY.get(host, host), config.port
        self._name, self._key = config.served_name, key

    def health(self, timeout: float) -> Answer:
        """GET /health."""
        status, body = self._request("GET", "/health", None, timeout)
        return Answer(status == 200, body if status != 200 else "")

    def token(self, timeout: float) -> Answer:
        """Have one token generated, with the key."""
        return self.complete({"prompt": "Hello", "max_tokens": 1, "temperature": 0}, timeout)

    def complete(self, body: dict[str, Any], timeout: float, path: str = COMPLETIONS) -> Answer:
        """POST a completion with the key and the model's name; ok when tokens came back."""
        request = {"model": self._name, **body}
        status, text = self._request("POST", path, request, timeout)
        if status != 200:
            return Answer(False, f"{path}: {status or 'no answer'} {text[:300]}".strip())
        try:
            answer = json.loads(text)
            tokens = int(answer["usage"]["completion_tokens"])
        except (ValueError, KeyError, TypeError):
            return Answer(False, f"{path}: not a completion: {text[:300]}")
        return Answer(tokens >= 1, "" if tokens >= 1 else f"{path}: no token generated")

    def _request(
        self, method: str, path: str, body: dict[str, Any] | None, timeout: float
    ) -> tuple[int, str]:
        """Return status and body; status 0 and the reason when there was no answer."""
        headers = {"Content-Type": "application/json"} if body else {}
        if self._key and body:
            headers["Authorization"] = f"Bearer {self._key}"
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            return response.status, response.read(65536).decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error) or type(error).__name__
        finally:
            connection.close()
