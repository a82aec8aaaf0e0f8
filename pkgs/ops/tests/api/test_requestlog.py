"""The line of a request: what the engine counted, what the client saw, and nothing it said."""

import asyncio
import itertools
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from qwen3090_ops.api.asgi import Message, Receive, Scope, Send
from qwen3090_ops.api.meter import Meter
from qwen3090_ops.api.requestlog import RequestLog

from .fake import scope_of

ID = "chatcmpl-1"


class Engine:
    """What the meter reads of vLLM: running requests, and the statistics of finished ones."""

    def __init__(self, meter: Meter) -> None:
        self.request_states: dict[str, Any] = {}
        self.output_processor = SimpleNamespace(request_states=self.request_states)
        self.meter = meter

    def step(self, **tokens: int) -> None:
        """End one engine step after which requests have so many tokens."""
        for name, count in tokens.items():
            self.request_states[name].stats.num_generation_tokens = count
        self.meter.finish([])

    def add(self, name: str, external: str = ID, prompt: int = 100, cached: int = 0) -> None:
        self.request_states[name] = SimpleNamespace(
            external_req_id=external,
            prompt_len=prompt,
            num_cached_tokens=cached,
            stats=SimpleNamespace(num_generation_tokens=0),
        )

    def end(self, name: str, tokens: int, external: str = ID, prompt: int = 100) -> None:
        """End a request in a step that brings it to so many tokens."""
        state = self.request_states.pop(name, None)
        self.meter.finish(
            [
                SimpleNamespace(
                    request_id=external,
                    num_prompt_tokens=prompt,
                    num_generation_tokens=tokens,
                    num_cached_tokens=state.num_cached_tokens if state else 0,
                )
            ]
        )


@pytest.fixture
def engine() -> Engine:
    """An engine each of whose steps takes a second."""
    moments = itertools.count(1000.0)
    meter = Meter(clock=lambda: next(moments))
    found = Engine(meter)
    meter.attach(found)
    return found


def test_steps_and_tokens_of_one_request(engine: Engine) -> None:
    engine.add("a", cached=64)
    engine.step()  # a chunk of the prompt: no token yet
    engine.step(a=1)
    engine.step(a=5)
    engine.end("a", 8)
    assert engine.meter.settled(ID)
    total = engine.meter.take(ID)
    assert total is not None
    assert (total.prompt, total.cached, total.tokens, total.steps) == (100, 64, 8, 3)
    assert total.tokens_per_step == 7 / 2
    assert total.decode_rate == 7 / (total.last - total.first)
    assert engine.meter.take(ID) is None


def test_a_request_of_one_step_that_nobody_saw_running(engine: Engine) -> None:
    engine.end("a", 1)
    total = engine.meter.take(ID)
    assert total is not None
    assert (total.tokens, total.steps, total.decode_rate, total.tokens_per_step) == (
        1,
        1,
        None,
        None,
    )


def test_parts_of_one_request_are_added_and_their_prompt_counted_once(engine: Engine) -> None:
    for name in ("0_x", "1_x"):  # n = 2
        engine.add(name)
    engine.step(**{"0_x": 1, "1_x": 1})
    engine.end("0_x", 3)
    engine.end("1_x", 5)
    total = engine.meter.take(ID)
    assert total is not None
    assert (total.prompt, total.tokens, total.streams) == (100, 8, 2)
    for number in range(2):  # two prompts
        engine.add(f"b{number}", f"cmpl-2-{number}", prompt=10)
        engine.end(f"b{number}", 1, f"cmpl-2-{number}", prompt=10)
    engine.add("c", "cmpl-22-0")
    total = engine.meter.take("cmpl-2")
    assert total is not None
    assert (total.prompt, total.tokens) == (20, 2)


def test_a_look_between_letting_go_and_the_statistics_loses_nothing(engine: Engine) -> None:
    engine.add("a")
    engine.step(a=1)
    state = engine.request_states.pop("a")
    engine.meter.look()
    engine.request_states["a"] = state
    engine.end("a", 4)
    total = engine.meter.take(ID)
    assert total is not None
    assert (total.tokens, total.steps) == (4, 2)


def test_counts_that_nobody_takes_are_forgotten(engine: Engine) -> None:
    engine.add("a")
    engine.step(a=1)
    engine.end("a", 2)
    for _ in range(1000):
        engine.meter.look()
    assert engine.meter.take(ID) is None


class Server:
    """A server whose request runs in the engine and may be left by its client."""

    def __init__(self, engine: Engine, *, stream: bool = True, request_id: str = ID) -> None:
        self.engine, self.stream, self.request_id = engine, stream, request_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["request_metadata"] = SimpleNamespace(request_id=self.request_id)
        self.engine.add("a", self.request_id)
        self.engine.step(a=2)
        kind = b"text/event-stream" if self.stream else b"application/json"
        headers = [(b"content-type", kind)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await send({"type": "http.response.body", "body": b"the answer", "more_body": True})
        except OSError:
            self.engine.request_states.pop("a")
            raise
        message = await receive()
        if message["type"] == "http.disconnect":
            self.engine.request_states.pop("a")
            return
        self.engine.end("a", 6, self.request_id)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def line_of(
    server: Any,
    engine: Engine,
    caplog: pytest.LogCaptureFixture,
    *,
    leaves: bool = False,
    speculation: bool = True,
    scope: Scope | None = None,
    gone: bool = False,
) -> str:
    """Return the one line that a request leaves in the log."""

    async def receive() -> Message:
        return {"type": "http.disconnect"} if leaves else {"type": "http.request"}

    async def send(message: Message) -> None:
        if gone and message["type"] == "http.response.body":
            raise OSError("gone")

    async def main() -> None:
        layer = RequestLog(server, speculation=speculation, meter=engine.meter)
        try:
            await layer(scope or asked, receive, send)
        except OSError:
            assert gone
        await asyncio.sleep(0.2)

    app = SimpleNamespace(state=SimpleNamespace(engine_client=engine))
    asked = scope_of() | {"app": app}
    with caplog.at_level(logging.INFO, "vllm.qwen3090.request"):
        asyncio.run(main())
    (line,) = caplog.messages
    return line


def test_a_request_that_ends(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    line = line_of(Server(engine), engine, caplog)
    head, words = line.split(" status=")[0], dict(w.split("=") for w in line.split(" ")[4:])
    assert head == f"request {ID} POST /v1/chat/completions"
    assert words["prompt"] == "100"
    assert words["output"] == "6"
    assert words["tok_step"] == "5.00"
    assert {"ttft", "total", "cached", "decode_tok_s"} <= set(words)
    assert "status=200 stream=1" in line
    assert "aborted" not in line
    assert "the answer" not in line


def test_no_tokens_a_step_without_speculation(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    line = line_of(Server(engine, stream=False), engine, caplog, speculation=False)
    assert "tok_step" not in line
    assert "stream=0" in line


@pytest.mark.parametrize("how", [{"leaves": True}, {"gone": True}])
def test_a_request_whose_client_leaves(
    engine: Engine, caplog: pytest.LogCaptureFixture, how: dict[str, bool]
) -> None:
    line = line_of(Server(engine), engine, caplog, **how)
    assert line.endswith("aborted=1")
    assert "output=2 " in line
    assert "prompt=100 " in line


def test_a_refused_request_has_a_line_too(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    line = line_of(refuses, engine, caplog)
    assert line.startswith("request - POST /v1/chat/completions status=400 stream=0 total=")


def test_a_path_cannot_write_lines_of_its_own(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        pass

    line = line_of(silent, engine, caplog, scope=scope_of("/v1\nrequest x\x1b[31m " + "a" * 999))
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 400


def test_what_asks_for_nothing_has_no_line(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        pass

    layer = RequestLog(silent, speculation=True, meter=engine.meter)
    with caplog.at_level(logging.INFO):
        for scope in (scope_of("/metrics", "GET"), scope_of(kind="websocket")):
            asyncio.run(layer(scope, None, None))  # type: ignore[arg-type]
    assert not caplog.messages


def test_the_last_numbers_may_come_after_the_last_byte(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """A stop string: vLLM lets the request go, then awaits, then hands the statistics out."""

    class Late(Server):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            scope["state"]["request_metadata"] = SimpleNamespace(request_id=ID)
            engine.add("a")
            engine.step(a=2)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x"})
            asyncio.get_running_loop().call_later(0.02, engine.end, "a", 9)

    assert "output=9 " in line_of(Late(engine), engine, caplog)
