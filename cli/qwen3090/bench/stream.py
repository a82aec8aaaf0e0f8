"""One streamed request, timed by the arrival of its bytes.

Not ``vllm bench serve``: that gives every request the same body (no seed or question of its own),
takes each chunk for one token's time, and reduces a failed request to its HTTP reason phrase.
Here every chunk carries the server's own token count (``continuous_usage_stats``), and the clock
is read before anything is parsed.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.target import Target, refused

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
USAGE = {"include_usage": True, "continuous_usage_stats": True}


@dataclass(frozen=True)
class Answer:
    """A complete answer. All times in seconds.

    Attributes:
        ttft: from sending to the first chunk with a token.
        e2e: from sending to the last byte.
        span: from the first chunk with a token to the last one.
        tokens: tokens generated, as the server counted them.
        first_tokens: tokens that came with the first chunk (1 unless chunks were merged).
        prompt_tokens: tokens of the prompt, as the server counted them.
        text: the answer without its thinking.
        thinking: the separated thinking.
        finish: the server's finish_reason.
    """

    ttft: float
    e2e: float
    span: float
    tokens: int
    first_tokens: int
    prompt_tokens: int
    text: str
    thinking: str
    finish: str

    @property
    def decode(self) -> float | None:
        """Tokens per second after the first chunk; None when one chunk was all."""
        after = self.tokens - self.first_tokens
        return after / self.span if after > 0 and self.span > 0 else None


@dataclass
class _Reading:
    """What has arrived so far; times by time.perf_counter."""

    marks: list[tuple[float, int]] = field(default_factory=list)
    counted: bool = False
    prompt_tokens: int = 0
    tokens: int = 0
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    finish: str = ""
    done: bool = False

    def take(self, event: Mapping[str, Any], now: float) -> None:
        """Take one event: new tokens get a mark, text is kept."""
        if error := event.get("error"):
            raise InvalidRun(f"the server broke the answer off: {str(error)[:300]}")
        usage = event.get("usage") or {}
        self.prompt_tokens = usage.get("prompt_tokens") or self.prompt_tokens
        total = usage.get("completion_tokens")
        choices = event.get("choices") or []
        if not choices:
            self.tokens = total or self.tokens
            return
        piece = self._words(choices[0])
        if total is not None:
            self.counted = True
            if total > self.tokens:
                self.marks.append((now, total))
                self.tokens = total
        elif piece:
            self.marks.append((now, len(self.marks) + 1))

    def _words(self, choice: Mapping[str, Any]) -> bool:
        delta = choice.get("delta") or {}
        words = choice.get("text") or delta.get("content") or ""
        thought = delta.get("reasoning") or delta.get("reasoning_content") or ""
        self.text.append(words)
        self.thinking.append(thought)
        self.finish = choice.get("finish_reason") or self.finish
        return bool(words or thought or delta.get("tool_calls"))


def ask(target: Target, body: Mapping[str, Any], path: str = CHAT) -> Answer:
    """Send one request and read its stream to the end.

    Args:
        body: the request without model and stream options.

    Raises:
        InvalidRun: an HTTP error, a broken stream, or an answer without a token.
    """
    whole = {"model": target.model, **body, "stream": True, "stream_options": USAGE}
    content = json.dumps(whole).encode()
    headers = {"Content-Type": "application/json"}
    reading, buffer, now = _Reading(), b"", 0.0
    started = time.perf_counter()
    try:
        with target.http.stream("POST", path, content=content, headers=headers) as response:
            if response.status_code != 200:
                response.read()
                raise refused(path, response.status_code, response.text)
            for chunk in response.iter_raw():
                now = time.perf_counter()
                *events, buffer = (buffer + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
                for event in _events(events, reading):
                    reading.take(event, now)
    except httpx.HTTPError as error:
        raise InvalidRun(f"{path}: {str(error) or type(error).__name__}") from None
    return _answer(path, reading, started, now)


def _events(blocks: list[bytes], reading: _Reading) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON object of each event; comments (keep-alive) are passed over."""
    for block in blocks:
        lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if data == b"[DONE]":
            reading.done = True
        elif data:
            try:
                event = json.loads(data)
            except ValueError:
                raise InvalidRun(f"the stream holds no JSON: {data[:200]!r}") from None
            yield event


def _answer(path: str, reading: _Reading, started: float, ended: float) -> Answer:
    if not reading.done:
        raise InvalidRun(f"{path}: the stream ended before [DONE]: the server or a proxy cut it")
    if not reading.marks or reading.tokens < 1:
        raise InvalidRun(f"{path}: the answer has no token (finish_reason {reading.finish!r})")
    (first, count), (last, _) = reading.marks[0], reading.marks[-1]
    return Answer(
        ttft=first - started,
        e2e=ended - started,
        span=last - first,
        tokens=reading.tokens,
        first_tokens=count if reading.counted else 1,
        prompt_tokens=reading.prompt_tokens,
        text="".join(reading.text),
        thinking="".join(reading.thinking),
        finish=reading.finish,
    )
