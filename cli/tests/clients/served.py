"""The one server that the tests of this folder ask, and how each client is pointed at it."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai

NAME = "served-here"
# Thinking off, per request: the answer is content from its first token on.
PLAIN: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
# Sampling that even a model that is sure of its answer varies under.
LOOSE: dict[str, Any] = {"temperature": 2, "top_p": 1, "extra_body": {**PLAIN, "top_k": -1}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "abroad": {"type": "boolean"},
    },
    "required": ["days", "abroad"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Served:
    """A running server.

    Attributes:
        port: of 127.0.0.1.
        key: opens it.
        log: what the supervisor and the engine print.
        context: tokens of prompt and answer together.
    """

    port: int
    key: str
    log: Path
    context: int

    @property
    def url(self) -> str:
        """Address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def openai(self, key: str | None = None) -> openai.OpenAI:
        """Return OpenAI's client; it tries nothing twice, so that a test sees each answer."""
        options = {"api_key": key or self.key, "max_retries": 0, "timeout": 120}
        return openai.OpenAI(base_url=f"{self.url}/v1", **options)  # type: ignore[arg-type]

    def anthropic(self, key: str | None = None, **options: Any) -> anthropic.Anthropic:
        """Return Anthropic's client."""
        given = options or {"api_key": key or self.key}
        return anthropic.Anthropic(base_url=self.url, max_retries=0, timeout=120, **given)

    def logged(self, request_id: str) -> dict[str, float]:
        """Return the numbers of a finished request in the log; they come a moment later."""
        line, deadline = re.compile(rf"request {re.escape(request_id)} (.*)"), time.monotonic() + 10
        while not (found := line.search(self.log.read_text())):
            assert time.monotonic() < deadline, f"no line of {request_id}"
            time.sleep(0.05)
        return {k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", found[1])}
