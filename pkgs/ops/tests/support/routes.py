"""Asks vLLM's own app for every route it has, without a key: `routes.py RESULTS.json`.

No engine is started: the app is built as the server builds it, with our middleware, for every task
and with the routes of the developer mode; a request that got past the guard would fail inside. The
result has what came back for each route and method, for websockets, and for a few routes with the
key.
"""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

KEY = "key-number-one-0123456789"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
# Answers that need no engine.
WITH_KEY = ["/version", "/openapi.json", "/docs", "/metrics"]
TASKS = ("generate", "render", "transcription", "realtime", "embed", "classify", "score")


def build():
    """Return the app."""
    from vllm.entrypoints.openai.api_server import build_app
    from vllm.entrypoints.openai.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    words = ["--middleware", "qwen3090_ops.api.middleware.Api"]
    args = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    return build_app(args, TASKS)


def paths(routes, prefix=""):
    """Yield the path of every route, those inside mounted apps and included routers too."""
    for route in routes:
        path = getattr(route, "path", None)
        if path is not None:
            yield prefix + re.sub(r"\{[^}]*\}", "x", path)
        inner = getattr(route, "routes", None) or getattr(
            getattr(route, "original_router", None), "routes", None
        )
        if inner:
            yield from paths(inner, prefix + (path or ""))


async def ask(app, kind, method, path, headers=()):
    """Return the status of one request, "closed" for a refused websocket, or the error's name."""
    scope = {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http" if kind == "http" else "ws",
        "headers": list(headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    if kind == "websocket":
        del scope["method"]
        scope["subprotocols"] = []
    first = {"type": "http.request", "body": b"{}", "more_body": False}
    pending = [first if kind == "http" else {"type": "websocket.connect"}]
    sent = []

    async def receive():
        return pending.pop() if pending else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    try:
        await asyncio.wait_for(app(scope, receive, send), 10)
    except Exception as error:
        return type(error).__name__
    if kind == "websocket":
        return "closed" if sent[0]["type"] == "websocket.close" else sent[0]["type"]
    return sent[0]["status"]


async def main():
    """Write the results."""
    app = build()
    known = {*paths(app.routes), *app.openapi()["paths"]}
    results = {"http": {}, "websocket": {}, "with_key": {}}
    for path in sorted(known):
        for method in METHODS:
            results["http"][f"{method} {path}"] = await ask(app, "http", method, path)
        results["websocket"][path] = await ask(app, "websocket", "", path)
    bearer = [(b"authorization", f"Bearer {KEY}".encode())]
    for path in WITH_KEY:
        results["with_key"][path] = await ask(app, "http", "GET", path, bearer)
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    os.environ["VLLM_SERVER_DEV_MODE"] = "1"
    asyncio.run(main())
