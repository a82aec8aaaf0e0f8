"""A small stand-in for a server: `stub_server.serve(mode)`; a mode names what it does wrong.

Modes: "" (as it must), stock (no report), no-guard, refuses, no-token, no-drafts, none-accepted,
other-name, no-metrics, ill.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "the-key-of-this-test"
COUNTER = 'vllm:spec_decode_num_{}_total{{model_name="demo"}} {}\n'


class Stub(ThreadingHTTPServer):
    """Its mode, its report, and how often it was asked for text."""

    mode = ""
    key: str | None = KEY
    report: dict[str, Any] = {}  # noqa: RUF012 - set for each server
    chats = 0


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def log_message(self, *_: object) -> None:
        """Stay quiet."""

    def reply(self, status: int, body: object) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refused(self) -> bool:
        wrong = self.headers.get("Authorization") != f"Bearer {self.server.key}"
        if self.server.mode == "refuses" or (self.server.key and wrong):
            self.reply(401, {"error": "Unauthorized"})
            return True
        return False

    def do_GET(self) -> None:
        mode = self.server.mode
        if self.path == "/health":
            self.reply(503 if mode == "ill" else 200, "")
        elif (mode != "no-guard" or self.path == "/v1/models") and self.refused():
            return
        elif self.path == "/v1/models":
            name = "other" if mode == "other-name" else "demo"
            self.reply(200, {"data": [{"id": name}]})
        elif self.path == "/metrics":
            drafts = 0 if mode == "no-drafts" else 20 * self.server.chats
            accepted = 0 if mode == "none-accepted" else 3 * drafts
            page = COUNTER.format("drafts", drafts)
            page += COUNTER.format("accepted_tokens", accepted)
            self.reply(200, "" if mode == "no-metrics" else page)
        elif self.path == "/qwen3090/engine" and mode != "stock":
            self.reply(200, {"workers": [self.server.report]})
        else:
            self.reply(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.refused():
            return
        tokens = 0 if self.server.mode == "no-token" else 1
        self.server.chats += self.path == "/v1/chat/completions"
        self.reply(200, {"choices": [], "usage": {"completion_tokens": tokens}})


@contextmanager
def serve(
    mode: str = "", report: dict[str, Any] | None = None, key: str | None = KEY
) -> Iterator[str]:
    """Run a server; give its address."""
    server = Stub(("127.0.0.1", 0), Handler)
    server.mode, server.report, server.key, server.daemon_threads = mode, report or {}, key, True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
