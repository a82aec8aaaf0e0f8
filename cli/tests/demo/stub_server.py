"""A stand-in for the served demo: the few routes it asks, right or with one named fault.

Run as: stub_server.py PORT KEY_FILE [FAULT]
"""

import json
import os
import signal
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from qwen3090.demo.story import ANSWER, CITY, REASONING

PORT, KEY = int(sys.argv[1]), Path(sys.argv[2]).read_text().strip()
FAULT = sys.argv[3] if len(sys.argv) > 3 else ""
COUNTERS = """# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0"} 20.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 60.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 45.0
"""


def message(request: dict[str, Any]) -> dict[str, Any]:
    answered = request["messages"][-1]["role"] == "tool"
    if request.get("tools") and not (answered and FAULT != "again"):
        city = "Atlantis" if FAULT == "city" else CITY
        function = {
            "name": "get_weather",
            "arguments": json.dumps({"city": city}),
        }
        calls = [{"id": "call-1", "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    content = "gibberish" if FAULT == "answer" else ANSWER
    return {"role": "assistant", "content": content, "reasoning": REASONING + "\n"}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def send(self, body: str, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def refused(self) -> bool:
        if FAULT == "open" or self.headers["Authorization"] == f"Bearer {KEY}":
            return False
        self.send('{"error": "Unauthorized"}', status=401)
        return True

    def do_GET(self) -> None:
        if not self.refused():
            self.send(COUNTERS if self.path == "/metrics" and FAULT != "metrics" else "{}")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refused():
            return
        common = {"id": "x", "created": 0, "model": "demo"}
        answer = message(request)
        if not request.get("stream"):
            reason = "tool_calls" if "tool_calls" in answer else "stop"
            choice = {"index": 0, "message": answer, "finish_reason": reason}
            self.send(json.dumps({**common, "object": "chat.completion", "choices": [choice]}))
            return
        words = [answer["content"][:9], answer["content"][9:]]
        chunks = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in words]
        events = [
            "data: " + json.dumps({**common, "object": "chat.completion.chunk", "choices": [c]})
            for c in chunks
        ]
        self.send("\n\n".join([*events, "data: [DONE]", ""]), kind="text/event-stream")


def stop(*_: object) -> None:
    sys.exit(3 if FAULT == "exit-code" else 0)


signal.signal(signal.SIGTERM, signal.SIG_IGN if FAULT == "stays" else stop)
if FAULT == "dies":
    sys.exit("error: no room on the card")
listener = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notes:
    notes.sendto(b"STATUS=starting", os.environ["NOTIFY_SOCKET"])
    notes.sendto(b"READY=1\nSTATUS=ready", os.environ["NOTIFY_SOCKET"])
listener.serve_forever()
