"""A small stand-in for vLLM: /health, /v1/models, /v1/completions; misbehaves as --stub MODE says.

Arguments are what serve renders (the first is the model's path); modes come from $STUB_MODE:
slow, never-ready, no-token, no-warmup, dies-after-ready, dies-at-start, hangs, stubborn,
grandchild, plugin. What it tells of its progress: stub_progress.py.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stub_progress import FOLDER, Steps

MODE = os.environ.get("STUB_MODE", "")
SOURCE = json.loads(os.environ["QWEN3090_API"])["keys"]
TEXT = os.environ.get("QWEN3090_API_KEYS", "") if SOURCE == "environment" else ""
KEYS = (TEXT or (Path(SOURCE).read_text() if SOURCE else "")).split()
STARTED = time.monotonic()
HANG = threading.Event()
BUSY = threading.Semaphore(0)
LOCK = threading.Lock()
STEPS = Steps()


def note(name: str, text: str = "") -> None:
    """Leave a mark for the test in $STUB_DIR."""
    (Path(os.environ["STUB_DIR"]) / name).write_text(text or str(os.getpid()))


class Handler(BaseHTTPRequestHandler):
    """The three routes."""

    def log_message(self, *_: object) -> None:
        """Stay quiet."""

    def reply(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if HANG.is_set():
            time.sleep(60)
        if self.path == "/health":
            late = MODE == "slow" and time.monotonic() - STARTED < 2
            never = MODE == "never-ready"
            self.reply(503 if late or never else 200, {})
        else:
            self.reply(200, {"data": [{"id": "stub"}]})

    def do_POST(self) -> None:
        STEPS.request(1)
        try:
            self.answer()
        finally:
            STEPS.request(-1)

    def stream(self, pieces: int) -> None:
        """Answer in pieces, ten a second."""
        self.send_response(200)
        self.end_headers()
        for number in range(pieces):
            self.wfile.write(b"data: %d\n\n" % number)
            self.wfile.flush()
            time.sleep(0.1)
        self.wfile.write(b"data: [DONE]\n\n")

    def answer(self) -> None:
        if FOLDER and (Path(FOLDER) / "drain").exists():
            self.reply(503, {"error": "stopping"})
            return
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if KEYS and self.headers.get("Authorization") not in [f"Bearer {key}" for key in KEYS]:
            self.reply(401, {"error": "Unauthorized"})
            return
        if MODE == "no-token" or (MODE == "no-warmup" and "min_tokens" in request):
            self.reply(500, {"error": "CUDA error"})
            return
        with LOCK, (Path(os.environ["STUB_DIR"]) / "requests").open("a") as stream:
            stream.write(json.dumps(request) + "\n")
        if request.get("stream"):
            self.stream(request["max_tokens"])
            return
        STEPS.token()
        self.reply(200, {"choices": [{"text": "x"}], "usage": {"completion_tokens": 1}})
        note("token")
        after = {"dies-after-ready": lambda: os._exit(3), "hangs": HANG.set}.get(MODE)
        if after:
            threading.Timer(0.3, after).start()


def drain(server: ThreadingHTTPServer) -> None:
    """Stop as vLLM does: let what runs finish, then end."""
    time.sleep(float(os.environ.get("STUB_DRAIN", "0")))
    note("drained")
    server.shutdown()


def main() -> None:
    note("engine")
    note("argv", json.dumps(sys.argv[1:]))
    note("env", json.dumps(dict(os.environ)))
    # Whole lines in one write: with PYTHONUNBUFFERED print would write the line's end apart.
    os.write(1, b"stub: starting\n")
    os.write(2, b"stub: a line on stderr \x1b[31min colour\x1b[0m\n")
    if MODE == "dies-at-start":
        raise SystemExit(7)
    if MODE == "plugin":
        print("ERROR Failed to load plugin qwen3090", file=sys.stderr, flush=True)
    if MODE == "grandchild":
        code = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
        child = subprocess.Popen(
            [sys.executable, "-c", f"{code}; time.sleep(600)"], start_new_session=True
        )
        note("grandchild", str(child.pid))
    arguments = sys.argv[1:]
    port = int(arguments[arguments.index("--port") + 1])
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, lambda *_: note("ignored"))
    else:
        stop = threading.Thread(target=drain, args=(server,))
        signal.signal(signal.SIGTERM, lambda *_: stop.start())
    server.serve_forever()


if __name__ == "__main__":
    main()
