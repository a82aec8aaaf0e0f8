"""The server that is measured: its address, key, model and context, as it says itself."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from qwen3090.bench.problems import InvalidRun

TIMEOUT = httpx.Timeout(30.0, read=3600.0)  # seconds; a prefill of 250,000 tokens sends no byte


@dataclass(frozen=True)
class Target:
    """A server that answered.

    Attributes:
        url: address without a path.
        model: the name that requests carry.
        context: longest request in tokens, as the server says (``max_model_len``).
        root: what the server loaded, usually a directory.
        version: the server's vLLM version, or "unknown".
        http: client with the key; reads no proxy settings.
        key: bearer key, or None.
    """

    url: str
    model: str
    context: int
    root: str
    version: str
    http: httpx.Client = field(repr=False)
    key: str | None = field(default=None, repr=False)

    def text(self, path: str) -> str:
        """GET ``path``.

        Raises:
            InvalidRun: no answer, or a status other than 200.
        """
        return _send(self.http, "GET", path).text

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST ``body`` and return the JSON object that comes back.

        Raises:
            InvalidRun: no answer, a status other than 200, or no JSON object.
        """
        return _object(path, _send(self.http, "POST", path, json={"model": self.model, **body}))

    def tokens(self, text: str) -> list[int]:
        """Return the ids of ``text`` by the server's own tokenizer, no special tokens added."""
        found = self.post("/tokenize", {"prompt": text, "add_special_tokens": False})
        if not isinstance(found.get("tokens"), list):
            raise InvalidRun(f"/tokenize gave no tokens: {str(found)[:200]}")
        return [int(token) for token in found["tokens"]]

    def detokenize(self, ids: list[int]) -> str:
        """Return the text of token ids."""
        return str(self.post("/detokenize", {"tokens": ids}).get("prompt", ""))

    def engine_report(self) -> Any:
        """Return what the engine says of itself (GET /qwen3090/engine), or None without it."""
        try:
            return json.loads(self.text("/qwen3090/engine"))
        except (InvalidRun, ValueError):
            return None


def worker_of(report: Any) -> dict[str, Any]:
    """Return what the first worker of an engine's report says; empty without a report."""
    workers = report.get("workers") if isinstance(report, dict) else None
    first = workers[0] if isinstance(workers, list) and workers else None
    return first if isinstance(first, dict) else {}


def connect(url: str, key: str | None, model: str | None = None) -> Target:
    """Ask the server at ``url`` what it serves.

    Args:
        url: address, with or without a trailing ``/v1``.
        key: bearer key, or None.
        model: the name to use; None takes the first that the server lists.

    Raises:
        InvalidRun: no answer, the key is refused, or the model is not served.
    """
    url = url.rstrip("/").removesuffix("/v1")
    headers = {"Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT, trust_env=False)
    listed = _object("/v1/models", _send(http, "GET", "/v1/models")).get("data") or []
    names = [str(entry["id"]) for entry in listed]
    if not names or (model is not None and model not in names):
        raise InvalidRun(
            f"{url} serves {', '.join(names) or 'no model'}, not {model or 'a model'}",
            "name the profile or the file that the server was started with",
        )
    entry = listed[names.index(model) if model else 0]
    context = entry.get("max_model_len")
    if not isinstance(context, int):
        raise InvalidRun(f"{url}/v1/models does not say max_model_len: not a vLLM server")
    root = str(entry.get("root") or "")
    return Target(url, str(entry["id"]), context, root, _version(http), http, key)


def refused(path: str, status: int, body: str) -> InvalidRun:
    """Return the error for an HTTP status other than 200."""
    step = "give the server's key: --key-file FILE" if status in (401, 403) else None
    return InvalidRun(f"{path}: HTTP {status}: {body[:300].strip() or 'no text'}", step)


def _send(http: httpx.Client, method: str, path: str, **more: Any) -> httpx.Response:
    try:
        response = http.request(method, path, **more)
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise InvalidRun(
            f"{http.base_url}{path}: {reason}", "start the server: qwen3090 serve"
        ) from None
    if response.status_code != 200:
        raise refused(path, response.status_code, response.text)
    return response


def _object(path: str, response: httpx.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidRun(f"{path}: not a JSON object: {response.text[:200]}")
    return found


def _version(http: httpx.Client) -> str:
    try:
        return str(_object("/version", _send(http, "GET", "/version")).get("version", "unknown"))
    except InvalidRun:
        return "unknown"
