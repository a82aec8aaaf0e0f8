"""Stands in for vLLM under the real supervisor: the routes it is asked for, and some of its own.

The arguments are the ones that ``qwen3090 serve`` renders. ``GET /stub/about`` tells as whom it
runs, what it was given and where it could write, ``GET /stub/reach/HOST`` whether it can speak
with a machine; ``POST /stub/hang`` makes it stop answering.
"""

import json
import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SOURCE = json.loads(os.environ["QWEN3090_API"])["keys"]
KEYS = Path(SOURCE).read_text().split() if SOURCE else []
HUNG = threading.Event()
# A service has no business in any of these.
FOREIGN = (
    "/",
    "/etc",
    "/home",
    "/root",
    "/usr",
    "/var",
    "/var/lib",
    "/var/log",
    "/nix/store",
    "/boot",
)


def writable(directory: str) -> bool:
    """Return whether a file can be made there, by trying."""
    probe = Path(directory, f".stub-{os.getpid()}")
    try:
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


def about() -> dict[str, Any]:
    """Return what the test wants to know about this process."""
    return {
        "argv": sys.argv[1:],
        "environment": dict(os.environ),
        "pid": os.getpid(),
        "uid": os.getuid(),
        "writable": [directory for directory in FOREIGN if writable(directory)],
        "cache": writable(os.environ["HOME"]),
    }


def reaches(host: str) -> bool:
    """Return whether a connection to the API's port of another machine comes about."""
    try:
        with socket.create_connection((host, int(option("--port"))), timeout=3):
            return True
    except OSError:
        return False


class Handler(BaseHTTPRequestHandler):
    """The routes."""

    def log_message(self, *_: object) -> None:
        """Stay quiet."""

    def reply(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if HUNG.is_set():
            time.sleep(3600)
        if self.path.startswith("/stub/reach/"):
            self.reply(200, reaches(self.path.rpartition("/")[2]))
        elif self.path == "/stub/about":
            self.reply(200, about())
        else:
            self.reply(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/stub/hang":
            HUNG.set()
            self.reply(200, {})
        elif KEYS and self.headers.get("Authorization") not in [f"Bearer {key}" for key in KEYS]:
            self.reply(401, {"error": "Unauthorized"})
        else:
            self.reply(200, {"choices": [{"text": "x"}], "usage": {"completion_tokens": 1}})


def option(name: str) -> str:
    """Return the value after a flag."""
    return sys.argv[sys.argv.index(name) + 1]


if __name__ == "__main__":
    server = ThreadingHTTPServer((option("--host"), int(option("--port"))), Handler)
    server.daemon_threads = True
    server.serve_forever()
