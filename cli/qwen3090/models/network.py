"""The network's settings, checked before use: huggingface_hub fails on bad ones while importing.

They come from the environment alone: the hub's address and timeouts, the proxy, the certificates.
"""

import os
import re
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from qwen3090.errors import UserError

_SECONDS = ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT")


def hub_constants() -> Any:
    """Return huggingface_hub's constants, read from an environment that was checked.

    Raises:
        UserError: a variable has a value that cannot be used; names both.
    """
    endpoint = os.environ.get("HF_ENDPOINT")
    if endpoint is not None and not _is_address(endpoint):
        raise UserError(
            f"HF_ENDPOINT is {endpoint!r}, not an http or https address",
            "unset HF_ENDPOINT, or set it to the mirror's address: https://HOST",
        )
    for name in _SECONDS:
        value = os.environ.get(name, "")
        if value and not re.fullmatch(r"[0-9]{1,6}", value):
            raise UserError(f"{name} is {value!r}, not whole seconds", f"unset {name}, or set 30")
    try:
        return import_module("huggingface_hub.constants")
    except ValueError as error:
        raise UserError(f"huggingface_hub refuses its settings: {error}", "check HF_*") from None


def open_session(http: Any) -> None:
    """Make the HTTP client that all requests share.

    Args:
        http: the HTTP library.

    Raises:
        UserError: a proxy or certificate setting cannot be used.
    """
    try:
        import_module("huggingface_hub.utils").get_session()
    except (OSError, ValueError, ImportError, http.InvalidURL) as error:
        text = str(error).splitlines() or [type(error).__name__]
        raise UserError(
            f"cannot set up the connection: {text[0][:160]}",
            "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        ) from None


def usable_token(text: str, where: str) -> str:
    """Return the token if it can stand in a request; its text is never part of the error.

    Args:
        text: one token, without white space around it.
        where: what it was read from, for the error.

    Raises:
        UserError: it is empty, more than one word, or has characters that no token has.
    """
    if not re.fullmatch(r"[!-~]+", text):
        raise UserError(
            f"{where} must hold the token alone: one word of plain ASCII characters",
            "copy the token again",
        )
    return text


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
