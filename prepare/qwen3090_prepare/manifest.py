"""prepared.json: inputs, parameters and outputs by hash; the same run gives the same bytes."""

import hashlib
import json
from collections.abc import Mapping
from importlib import metadata
from typing import Any

FORMAT = 1


def tool_version() -> str:
    """Return this package's version."""
    try:
        return metadata.version("qwen3090-prepare")
    except metadata.PackageNotFoundError:
        return "0.1.0"


def request(parameters: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the manifest that decides all the rest."""
    return {
        "format": FORMAT,
        "inputs": dict(inputs),
        "parameters": dict(parameters),
        "tool": {"name": "qwen3090-prepare", "version": tool_version()},
    }


def key(asked: Mapping[str, Any]) -> str:
    """Return a hash of the request."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def dump(asked: Mapping[str, Any], outputs: Mapping[str, Any]) -> bytes:
    """Serialize the manifest."""
    content = {**asked, "outputs": dict(outputs)}
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()


def outputs_of(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the outputs of a manifest that was read, or None when they are malformed or empty."""
    outputs = manifest.get("outputs")
    if not isinstance(outputs, dict) or not outputs:
        return None
    for name, entry in outputs.items():
        if name in (".", "..") or "/" in name or "\0" in name or not isinstance(entry, dict):
            return None
        if type(entry.get("size")) is not int or not isinstance(entry.get("sha256"), str):
            return None
    return outputs
