"""A small hub on 127.0.0.1: resolve, metadata, ranges, and every fault a line or server can have.

Also runs alone, for trying commands by hand: python hub_server.py DIR [PORT] serves
DIR/OWNER/NAME/FILE as OWNER/NAME at any revision.
"""

import hashlib
import json
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Zeros:
    """A file of zero bytes that takes no room."""

    size: int

    def __len__(self) -> int:
        """Return the size in bytes."""
        return self.size

    def __getitem__(self, span: slice) -> bytes:
        """Return zero bytes for a range."""
        start, stop, _ = span.indices(self.size)
        return bytes(max(0, stop - start))


@dataclass
class Fault:
    """What to do wrong with one request for a file.

    ``status``: answer ``value``, with ``headers``. ``cut``: close after ``value`` bytes. ``short``:
    claim and send ``value`` bytes fewer. ``flip``: change byte ``value``. ``ignore_range``: 200
    with everything. ``wrong_range``: 206 from byte 0. ``redirect``: to the address ``value``.
    ``slow``: ``value`` bytes a second. ``stall``: silence for ``value`` seconds after the first
    bytes. ``html``: 200 with a login page. ``more``: extra bytes, no length.
    """

    kind: str
    value: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]


class HubServer:
    """Files by ``OWNER/NAME/path``; faults by path, used up one a request (``always``: kept)."""

    def __init__(self, port: int = 0) -> None:
        self.files: dict[str, bytes | Zeros] = {}
        self.faults: dict[str, deque[Fault]] = {}
        self.always: dict[str, Fault] = {}
        self.seen: list[Seen] = []
        self.lfs: set[str] = set()
        self.token: str | None = None
        self.root: Path | None = None
        self.lock = Lock()
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self.http = _QuietServer(("127.0.0.1", port), Handler)
        self.thread = Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def start(self) -> "HubServer":
        self.thread.start()
        return self

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def put(self, repository: str, path: str, content: bytes | Zeros, *faults: Fault) -> None:
        self.files[f"{repository}/{path}"] = content
        self.faults[f"{repository}/{path}"] = deque(faults)

    @staticmethod
    def fault(kind: str, value: Any = None, **headers: str) -> Fault:
        """Return a fault; header names are written with underscores."""
        return Fault(kind, value, {name.replace("_", "-"): text for name, text in headers.items()})

    @staticmethod
    def zeros(size: int) -> Zeros:
        """Return the content of a file of ``size`` zero bytes."""
        return Zeros(size)

    def content(self, key: str) -> bytes | Zeros | None:
        if self.root is not None:
            path = self.root / key
            return path.read_bytes() if path.is_file() else None
        return self.files.get(key)

    def requests(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.path.endswith(path)]


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: Any) -> None:
        """A client that was killed is no news."""


class _Handler(BaseHTTPRequestHandler):
    server_hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        hub = self.server_hub
        path = unquote(urlsplit(self.path).path)
        if path.startswith("http"):  # a proxy is asked with the whole address
            path = urlsplit(path).path
        with hub.lock:
            headers = {name.lower(): value for name, value in self.headers.items()}
            hub.seen.append(Seen(self.command, path, headers))
        try:
            if path.startswith("/api/models/"):
                self._metadata(path)
            else:
                self._resolve(path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def _authorized(self) -> bool:
        wanted = self.server_hub.token
        if wanted is None or self.headers.get("Authorization") == f"Bearer {wanted}":
            return True
        self._plain(401, b'{"error":"Invalid username or password."}')
        return False

    def _resolve(self, path: str) -> None:
        hub = self.server_hub
        before, found, after = path.strip("/").partition("/resolve/")
        key = f"{before}/{after.partition('/')[2]}" if found else path.strip("/")
        if found and not self._authorized():
            return
        with hub.lock:
            queue = hub.faults.get(key)
            fault = queue.popleft() if queue else hub.always.get(key, Fault("none"))
        content = hub.content(key)
        if fault.kind == "status":
            self._plain(fault.value, b"no", fault.headers)
        elif fault.kind == "redirect":
            self._plain(302, b"", {"Location": f"{fault.value}/{key}"})
        elif fault.kind == "html":
            self._plain(200, b"<html>please log in</html>")
        elif content is None:
            self._plain(404, b"Entry not found", {"X-Error-Code": "EntryNotFound"})
        else:
            self._send(content, fault)

    def _send(self, content: bytes | Zeros, fault: Fault) -> None:
        size = len(content)
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start >= size and asked:
            self._plain(416, b"", {"Content-Range": f"bytes */{size}"})
            return
        if fault.kind in ("ignore_range", "wrong_range"):
            start = 0
        length = size - start
        if fault.kind == "short":
            length -= fault.value
        self.send_response(206 if asked and fault.kind != "ignore_range" else 200)
        if asked and fault.kind != "ignore_range":
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if fault.kind == "more":
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self._body(content, fault, start, length)

    def _body(self, content: bytes | Zeros, fault: Fault, start: int, length: int) -> None:
        limit = fault.value if fault.kind == "cut" else length
        step = max(1, fault.value // 20) if fault.kind == "slow" else 1 << 20
        sent = 0
        while sent < min(limit, length):
            piece = bytearray(content[start + sent : start + min(sent + step, limit, length)])
            if fault.kind == "flip" and start + sent <= fault.value < start + sent + len(piece):
                piece[fault.value - start - sent] ^= 0xFF
            self.wfile.write(piece)
            sent += len(piece)
            if fault.kind == "slow":
                time.sleep(0.05)
            if fault.kind == "stall":
                self.wfile.flush()
                time.sleep(fault.value)
                break
        if fault.kind == "more":
            self.wfile.write(b"x" * 4096)
        if sent < length:
            self.wfile.flush()
            self.close_connection = True

    def _metadata(self, path: str) -> None:
        hub = self.server_hub
        repository = "/".join(path.removeprefix("/api/models/").split("/")[:2])
        if not self._authorized():
            return
        siblings = []
        for key, content in sorted(hub.files.items()):
            if not key.startswith(repository + "/"):
                continue
            raw = content[: len(content)]
            name = key.removeprefix(repository + "/")
            entry: dict[str, Any] = {"rfilename": name, "size": len(raw)}
            git = hashlib.sha1(b"blob %d\0" % len(raw) + raw).hexdigest()
            entry["blobId"] = git
            if key in hub.lfs:
                digest = hashlib.sha256(raw).hexdigest()
                entry["lfs"] = {"size": len(raw), "sha256": digest, "pointerSize": 130}
            siblings.append(entry)
        if not siblings:
            self._plain(404, b'{"error":"Repository not found"}', {"X-Error-Code": "RepoNotFound"})
            return
        body = {"_id": "1", "id": repository, "sha": COMMIT, "siblings": siblings, "tags": []}
        kind = {"Content-Type": "application/json"}
        self._plain(200, json.dumps(body).encode(), kind)

    def _plain(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


if __name__ == "__main__":
    server = HubServer(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    server.root = Path(sys.argv[1])
    print(server.url, flush=True)
    server.http.serve_forever()
