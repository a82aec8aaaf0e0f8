"""SIGTERM while requests run: streams end whole, new requests are refused, within a bound."""

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Callable

from qwen3090.serve import exit_codes

from .harness import Served, alive

Start = Callable[..., Served]


class Stream(threading.Thread):
    """A client that reads one streamed answer."""

    def __init__(self, port: int, pieces: int) -> None:
        super().__init__(daemon=True)
        self.received = b""
        self.first = threading.Event()
        body = json.dumps({"prompt": "x", "stream": True, "max_tokens": pieces})
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request("POST", "/v1/completions", body)
        self.start()
        assert self.first.wait(10)

    def run(self) -> None:
        answer = self.connection.getresponse()
        while piece := answer.read1():
            self.received += piece
            self.first.set()


def ask(port: int) -> int:
    """Return the status of a new request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 1}))
    return connection.getresponse().status


def test_a_running_stream_ends_and_new_requests_are_refused(start: Start) -> None:
    served = start()
    served.wait_ready()
    stream = Stream(served.port, 20)
    served.process.send_signal(signal.SIGTERM)
    time.sleep(0.7)
    assert ask(served.port) == 503
    assert served.ended() == exit_codes.OK
    stream.join(5)
    assert stream.received.endswith(b"data: [DONE]\n\n")
    assert "SIGTERM: stopping; 1 request running, 30 s to finish" in served.output()
    assert "cut off" not in served.output()
    assert not alive(served.pid())


def test_a_stream_that_is_too_long_is_cut_off_in_time(start: Start) -> None:
    served = start("", "shutdown_timeout=1", "kill_timeout=5")
    served.wait_ready()
    stream = Stream(served.port, 600)
    begin = time.monotonic()
    assert served.stop() == exit_codes.OK
    assert time.monotonic() - begin < 6
    stream.join(5)
    assert not stream.received.endswith(b"[DONE]\n\n")
    assert "1 request not finished within 1 s: cut off" in served.output()
    assert not alive(served.pid())


def test_a_second_signal_does_not_wait_for_the_stream(start: Start) -> None:
    served = start()
    served.wait_ready()
    Stream(served.port, 600)
    served.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    os.kill(served.process.pid, signal.SIGINT)
    begin = time.monotonic()
    assert served.ended() == exit_codes.STOP_FORCED
    assert time.monotonic() - begin < 5
    assert not alive(served.pid())
