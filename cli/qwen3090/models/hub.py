"""The hub, through huggingface_hub: its address, proxy, token and offline rules are that library's.

A reply is reduced to what the download needs; a failure to what a user can do about it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from qwen3090 import __version__
from qwen3090.errors import UserError
from qwen3090.models.network import hub_constants, open_session, usable_token


class Transient(Exception):
    """A failure that may pass; ``retry_after`` in seconds when the server said so."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def _http() -> Any:
    """Return the HTTP library that huggingface_hub uses (its name changed with version 2)."""
    try:
        return import_module("httpx2")
    except ImportError:
        return import_module("httpx")


@dataclass(frozen=True)
class Reply:
    """An answer: the place of its first byte (-1: unusable) and the file's full size."""

    response: Any
    start: int
    total: int | None

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in pieces as they arrive, so that a break loses none of it.

        Raises:
            Transient: the connection broke or was silent for too long.
        """
        http = _http()
        try:
            yield from self.response.iter_bytes()
        except http.TransportError as error:
            raise Transient(f"connection lost ({_brief(error)})") from None
        except http.DecodingError as error:
            raise Transient(f"body cannot be decoded ({_brief(error)})") from None


@dataclass(frozen=True)
class Hub:
    """How to reach the hub.

    Args:
        token: access token or None; never stored, never printed.
        retries: attempts without progress before giving up.
        first_wait: seconds before the first retry; doubles up to 30.
    """

    token: str | None = None
    retries: int = 5
    first_wait: float = 1.0

    @property
    def offline(self) -> bool:
        """Whether HF_HUB_OFFLINE is set."""
        return bool(hub_constants().HF_HUB_OFFLINE)

    @contextmanager
    def open(self, repository: str, revision: str, path: str, start: int = 0) -> Iterator[Reply]:
        """Open a file from byte ``start``; the body streams while the context is open.

        Raises:
            Transient: worth another attempt.
            UserError: the hub says no.
        """
        constants = hub_constants()
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import http_stream_backoff

        http = _http()
        open_session(http)
        url = hf_hub_url(repository, path, revision=revision)
        # Not build_hf_headers: it asks the hub for a list first, to name what runs this command.
        headers = {"User-Agent": f"qwen3090/{__version__}", "Accept-Encoding": "identity"}
        if self.token:  # never the one a login left behind, only what the user gave this command
            headers["Authorization"] = f"Bearer {self.token}"
        if start:
            headers["Range"] = f"bytes={start}-"
        try:
            with http_stream_backoff(
                "GET",
                url,
                headers=headers,
                timeout=float(constants.HF_HUB_DOWNLOAD_TIMEOUT),
                max_retries=0,
                retry_on_exceptions=(),
                retry_on_status_codes=(),
            ) as response:
                self._check(response, f"{repository}@{revision[:12]}", path)
                yield _reply(response)
        except http.TransportError as error:
            raise Transient(f"cannot reach the hub ({_brief(error)})") from None
        except http.HTTPError as error:
            raise UserError(
                f"{repository}: {_brief(error)}", "check HF_ENDPOINT and the proxy settings"
            ) from None

    def model_info(self, repository: str, revision: str) -> Any:
        """Return the hub's metadata of a repository: commit, files with size, sha256, git id.

        Raises:
            UserError: the hub cannot be reached or refuses.
        """
        hub_constants()
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        if self.offline:
            raise UserError("HF_HUB_OFFLINE is set; the metadata is on the hub", "unset it")
        http = _http()
        open_session(http)
        try:
            return HfApi(token=self.token or False).model_info(
                repository, revision=revision, files_metadata=True
            )
        except HfHubHTTPError as error:
            status = error.response.status_code if error.response is not None else "an error"
            hint = (
                "check the token (HF_TOKEN or --token-file) and the repository's name"
                if status in (401, 403)
                else "check the repository's name and the revision"
            )
            raise UserError(f"the hub answers {status} for {repository}@{revision}", hint) from None
        except (http.HTTPError, OfflineModeIsEnabled, ValueError) as error:
            raise UserError(
                f"cannot ask the hub for {repository}@{revision}: {_brief(error)}",
                "check the name, the network and HF_ENDPOINT",
            ) from None

    def _check(self, response: Any, where: str, path: str) -> None:
        status = response.status_code
        if status in (200, 206, 416):
            return
        if status in (408, 425, 429) or status >= 500:
            raise Transient(f"the hub answers {status}", _retry_after(response.headers))
        if status in (401, 403):
            if self.token:
                raise UserError(
                    f"the hub refuses the token for {where} ({status})",
                    "check that the token is valid and may read the repository",
                )
            raise UserError(
                f"the hub wants a token for {where} ({status})",
                "set HF_TOKEN, or give --token-file FILE, then run the same command again",
            )
        if status == 404:
            raise UserError(
                f"{where} has no file {path} (404)",
                "the repository may be gone: take the files from a copy with --from DIR,"
                " or check the manifest",
            )
        raise UserError(f"the hub answers {status} for {path} of {where}", "try again later")


def hub_cache() -> Path | None:
    """Return huggingface_hub's cache directory (HF_HUB_CACHE, HF_HOME) when it exists."""
    path = Path(hub_constants().HF_HUB_CACHE)
    return path if path.is_dir() else None


def read_token(token_file: Path | None, environment: str | None) -> str | None:
    """Return the token from a file, else from the environment's value, else None.

    Raises:
        UserError: the file cannot be read or holds no single word.
    """
    if token_file is None:
        text = (environment or "").strip()
        return usable_token(text, "HF_TOKEN") if text else None
    try:
        text = token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read token file {token_file}: {_reason(error)}", "check --token-file"
        ) from None
    return usable_token(text, f"token file {token_file}")


def _reason(error: OSError | UnicodeDecodeError) -> str:
    """Return why, without the file's content (a decoding error quotes it)."""
    return str(error.strerror) if isinstance(error, OSError) else "it is not text"


def _reply(response: Any) -> Reply:
    if response.status_code == 416:
        # Nothing from there on: what we have cannot be this file's beginning.
        return Reply(response, -1, None)
    if response.status_code == 206:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if match is None:
            return Reply(response, -1, None)
        return Reply(response, int(match[1]), None if match[2] == "*" else int(match[2]))
    plain = response.headers.get("Content-Encoding", "identity") == "identity"
    length = response.headers.get("Content-Length", "")
    return Reply(response, 0, int(length) if plain and re.fullmatch(r"[0-9]+", length) else None)


def _retry_after(headers: Any) -> float | None:
    """Read Retry-After (seconds) or the hub's RateLimit header (t = seconds until reset)."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]+", value):
        return float(value)
    match = re.search(r";\s*r=0\s*;\s*t=(\d+)", headers.get("RateLimit", ""))
    return float(match[1]) + 1 if match else None


def _brief(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0][:160] if text else type(error).__name__
