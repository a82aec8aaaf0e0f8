"""A plain reading of the made files: dequantized weights, pieces of a layer, rendered chats."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from numpy.typing import NDArray
from qwen3090.demo.tokenizer import chat_template
from safetensors.torch import load_file

Array = NDArray[np.float32]


class Weights:
    """The tensors of a directory as float32, packed int4 linears dequantized."""

    def __init__(self, directory: Path, prefix: str = "") -> None:
        self.tensors: dict[str, Any] = {}
        self.prefix = prefix
        self.read: dict[str, Array] = {}
        for path in sorted(directory.glob("*.safetensors")):
            self.tensors |= load_file(path)

    def __getitem__(self, name: str) -> Array:
        if name not in self.read:
            self.read[name] = self._dequantized(self.prefix + name)
        return self.read[name]

    def _dequantized(self, full: str) -> Array:
        for key in (full, f"{full}.weight"):
            if key in self.tensors:
                plain: Array = self.tensors[key].float().numpy()
                return plain
        words = self.tensors[f"{full}.weight_packed"].numpy().view(np.uint32)
        scale = self.tensors[f"{full}.weight_scale"].float().numpy()
        codes = (words[:, :, None] >> (np.arange(8, dtype=np.uint32) * 4)) & 15
        groups = codes.astype(np.float32).reshape(len(words), -1, 128) - 8
        packed: Array = (groups * scale[..., None]).reshape(len(words), -1)
        return packed


def rms(rows: Array) -> Array:
    """Divide each last-dimension row by its root mean square."""
    normed: Array = (rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6)).astype(np.float32)
    return normed


def silu(values: Array) -> Array:
    """Return x * sigmoid(x), without overflow."""
    activated: Array = (values * (0.5 * (1 + np.tanh(values / 2)))).astype(np.float32)
    return activated


def render(messages: list[dict[str, Any]], **more: Any) -> str:
    def fail(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = fail
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(chat_template()).render(messages=messages, **more)
