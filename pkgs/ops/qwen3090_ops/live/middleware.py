"""Serves the worker's report as ``GET /qwen3090/engine`` (``--middleware``).

It asks for no key itself. vLLM puts a later ``--middleware`` outside an earlier one
(entrypoints/openai/api_server.py:314), so the guard that asks for the key must come after it.
"""

import asyncio
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/qwen3090/engine"
TIMEOUT_S = 60.0  # the worker answers between two steps


class EngineReport:
    """Answers one path and passes everything else on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of the server."""
        if scope["type"] != "http" or _path(scope) != PATH:
            await self.app(scope, receive, send)
        elif scope["method"] != "GET":
            await JSONResponse({"error": "only GET"}, 405)(scope, receive, send)
        else:
            status, body = await _ask(scope)
            await JSONResponse(body, status)(scope, receive, send)


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def _ask(scope: Scope) -> tuple[int, dict[str, Any]]:
    """Return the status and the body: the reports of all workers, or why there are none."""
    client = getattr(scope["app"].state, "engine_client", None)
    if client is None:
        return 503, {"error": "the engine is still starting"}
    try:
        asked = client.collective_rpc("qwen3090_report")
        async with asyncio.timeout(TIMEOUT_S):
            return 200, {"workers": await asked}
    except TimeoutError:
        return 503, {"error": f"no answer from the worker within {TIMEOUT_S:.0f} s"}
    except Exception as error:
        return 500, {"error": f"{type(error).__name__}: {error}"}
