"""The class that vLLM's `--middleware` names: every layer of this package, in the one right order.

Outermost first: the guard (nothing is read before the key is known); keep-alive comments, so that
no other layer sees them; the log, so that refusals have a line too; the limits; clear errors.
"""

import os
from collections.abc import Mapping

from qwen3090_ops.api import keys, settings
from qwen3090_ops.api.asgi import App, Receive, Scope, Send
from qwen3090_ops.api.errors import ClearErrors
from qwen3090_ops.api.guard import Guard
from qwen3090_ops.api.keepalive import KeepAlive
from qwen3090_ops.api.limits import Limits
from qwen3090_ops.api.requestlog import RequestLog


class Api:
    """The layers around one server.

    Args:
        app: the server.
        environ: where the settings are, and keys that came as a variable.

    Raises:
        RuntimeError: the settings or the keys are missing or wrong; the server does not start.
    """

    def __init__(self, app: App, environ: Mapping[str, str] = os.environ) -> None:
        found = settings.read(environ)
        keyring = keys.load(found.keys, environ)
        app = ClearErrors(app, found.served_name)
        limits = found.max_body_bytes, found.max_json_depth, found.max_grammar_repeats
        app = Limits(app, *limits)
        if found.request_log:
            app = RequestLog(app, speculation=found.speculation)
        app = KeepAlive(app, found.keep_alive_interval)
        self._app = Guard(app, keyring)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await self._app(scope, receive, send)
