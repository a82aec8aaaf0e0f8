"""The supervisor over the real engine: progress during a long prefill, and a stop under load."""

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qwen3090.demo import make, server
from qwen3090.serve.descend import descendants

from .harness import alive

pytestmark = [pytest.mark.engine, pytest.mark.slow]

CHUNK = 64
PROMPT = [100 + place * 7 % 100 for place in range(1200)]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("runtime")
    return found


@pytest.fixture(scope="module")
def served(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Server]:
    pytest.importorskip("vllm")
    folder = tmp_path_factory.mktemp("tiny")
    tiny = make(folder)
    port, key = server.free_port(), server.write_key(folder / "key")
    argv = server.command(tiny.base, port, folder / "key")
    sets = ("speculation=none", "seats=2", "warmup=true", "shutdown_timeout=60")
    for item in (f"max_batched_tokens={CHUNK}", *sets):
        argv += ["--set", item]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"XDG_RUNTIME_DIR": str(runtime), "QWEN3090_STATE": str(folder / "state")}
    with server.running(argv, port, key, folder / "log", environment) as found:
        yield found


def post(served: server.Server, **body: Any) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
    headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/json"}
    request = {"model": server.SERVED_NAME, "temperature": 0, "ignore_eos": True, **body}
    connection.request("POST", "/v1/completions", json.dumps(request), headers)
    return connection.getresponse()


def record(runtime: Path) -> dict[str, Any]:
    (path,) = runtime.glob("*/engine.json")
    while True:
        try:
            found: dict[str, Any] = json.loads(path.read_text())
        except ValueError:
            continue
        if found["seq"] == found["end"]:
            return found


def test_the_warm_up_took_every_kind(served: server.Server) -> None:
    text = served.log.read_text()
    for kind in ("prefill", "decoding", "structured output", "tools"):
        assert f"{kind} " in text.split("warm-up of")[1].splitlines()[0]


def test_a_long_prefill_shows_each_step(served: server.Server, runtime: Path) -> None:
    before = record(runtime)
    assert before["busy_since"] is None
    seen: list[dict[str, Any]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.001):
            seen.append(record(runtime))

    looking = threading.Thread(target=look)
    looking.start()
    answer = post(served, prompt=PROMPT, max_tokens=2)
    answer.read()
    ended.set()
    looking.join()
    assert answer.status == 200
    during = [
        r for r in seen if r["busy_since"] and r["generated_tokens"] == before["generated_tokens"]
    ]
    chunks = {r["prompt_tokens"] - before["prompt_tokens"] for r in during}
    assert len(chunks & set(range(0, len(PROMPT), CHUNK))) >= len(PROMPT) // CHUNK // 2
    steps = [r["steps"] for r in during]
    assert steps == sorted(steps)
    assert steps[-1] - steps[0] >= len(PROMPT) // CHUNK - 2
    after = record(runtime)
    assert after["busy_since"] is None
    assert after["prompt_tokens"] - before["prompt_tokens"] == len(PROMPT)
    assert after["generated_tokens"] > before["generated_tokens"]


def test_a_stop_lets_the_stream_end_and_refuses_what_comes(served: server.Server) -> None:
    """The last test of the module: it ends the server."""
    below = descendants(served.process.pid)
    stream = post(served, prompt=[100, 101, 102], max_tokens=200, stream=True)
    first = stream.readline()
    assert first.startswith(b"data: ")
    served.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 20
    while (refused := post(served, prompt="x", max_tokens=1)).status != 503:
        assert time.monotonic() < deadline
    assert refused.getheader("Retry-After")
    text = stream.read()
    assert text.rstrip().endswith(b"data: [DONE]")
    assert b'"finish_reason":"length"' in text.replace(b" ", b"")
    assert served.process.wait(60) == 0
    assert [pid for pid in below if alive(pid)] == []
