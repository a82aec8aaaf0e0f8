"""The shape of the model as far as memory goes: its layers, heads and state, built in or read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError

_MAX_CONTEXT = 262_144
_MAX_LAYERS = 4096  # more is a damaged file, and would fill the memory
_DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}


@dataclass(frozen=True)
class Drafter:
    """A DFlash2 drafter.

    Attributes:
        windows: per layer its sliding window in tokens, or None where it keeps every token.
        kv_heads: KV heads of a layer.
        head_dim: width of a head.
        block_size: tokens it is trained to see at once (1 anchor + the drafts).
    """

    windows: tuple[int | None, ...]
    kv_heads: int
    head_dim: int
    block_size: int


@dataclass(frozen=True)
class Geometry:
    """What the memory model needs to know of a checkpoint.

    Attributes:
        attention_layers, recurrent_layers, mtp_layers: counts of layers.
        kv_heads, head_dim: of the full-attention layers (the MTP layer has the same).
        key_heads, value_heads, key_dim, value_dim, conv_kernel: of the recurrent layers.
        model_bytes: bytes of an element of the model's dtype (the conv window has it).
        max_context: tokens the model was made for.
        drafter: the DFlash2 drafter, or None.
        source: where the figures come from, for reports.
    """

    attention_layers: int
    recurrent_layers: int
    kv_heads: int
    head_dim: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv_kernel: int
    mtp_layers: int
    drafter: Drafter | None
    model_bytes: int = 2
    max_context: int = _MAX_CONTEXT
    source: str = "built in: Qwen3.8-27B and its DFlash2 drafter"

    @staticmethod
    def builtin() -> "Geometry":
        """Return Qwen3.8-27B with its published DFlash2 drafter."""
        return Geometry(
            attention_layers=16,
            recurrent_layers=48,
            kv_heads=4,
            head_dim=256,
            key_heads=16,
            value_heads=48,
            key_dim=128,
            value_dim=128,
            conv_kernel=4,
            mtp_layers=1,
            drafter=Drafter(windows=(2048,) * 5, kv_heads=8, head_dim=128, block_size=8),
        )

    @staticmethod
    def from_checkpoint(directory: Path, drafter: Path | None = None) -> "Geometry":
        """Read a checkpoint's geometry.

        Args:
            directory: folder with the target's ``config.json`` (flat, or with ``text_config``).
            drafter: folder with the drafter's ``config.json``, or None for no drafter.

        Raises:
            UserError: a file is missing, is not JSON, or lacks a field of this architecture.
        """
        file, top = _read(directory)
        text = _Fields(file, top).table("text_config") if "text_config" in top else top
        field = _Fields(file, text)
        kinds = _layer_kinds(field)
        return Geometry(
            attention_layers=kinds.count("full_attention"),
            recurrent_layers=kinds.count("linear_attention"),
            kv_heads=field.size("num_key_value_heads"),
            head_dim=_head_dim(field),
            key_heads=field.size("linear_num_key_heads"),
            value_heads=field.size("linear_num_value_heads"),
            key_dim=field.size("linear_key_head_dim"),
            value_dim=field.size("linear_value_head_dim"),
            conv_kernel=field.size("linear_conv_kernel_dim"),
            mtp_layers=field.size("mtp_num_hidden_layers", _MAX_LAYERS) if _drafts(text) else 0,
            model_bytes=_dtype_bytes(file, text, top),
            max_context=field.size("max_position_embeddings"),
            drafter=_drafter(drafter) if drafter is not None else None,
            source=str(directory),
        )

    @staticmethod
    def drafter_of(directory: Path) -> Drafter:
        """Read a drafter's shape alone; see ``from_checkpoint`` for errors."""
        return _drafter(directory)

    def state_bytes(self, k: int, state_element: int) -> int:
        """Return the bytes of one recurrent state of one layer with ``k`` draft tokens.

        Args:
            k: draft tokens a step; the conv window grows by one row for each.
            state_element: bytes of an element of the recurrent state.
        """
        channels = 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim
        conv = (self.conv_kernel - 1 + k) * channels * self.model_bytes
        return conv + self.value_heads * self.value_dim * self.key_dim * state_element


class _Fields:
    """Reads sizes, tables and lists of names from a config; names the file when one is wrong."""

    def __init__(self, file: Path, values: dict[str, Any]) -> None:
        self.file = file
        self.values = values

    def size(self, name: str, most: int = 2**31) -> int:
        """Return a whole number from 1 to ``most``."""
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise self.wrong(name, "a positive whole number")
        return value

    def table(self, name: str) -> dict[str, Any]:
        """Return a table; an absent one or null is empty."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(name, "a table")
        return value or {}

    def names(self, name: str) -> list[str] | None:
        """Return a list of names, or None when there is none."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(name, "a list of names")
        return value

    def wrong(self, name: str, expected: str) -> UserError:
        """Return the error for a field."""
        return UserError(
            f"{self.file}: '{name}' is {repr(self.values.get(name))[:80]}, expected {expected}",
            "give a checkpoint of Qwen3.8-27B's architecture (--model DIR)",
        )


def _read(directory: Path) -> tuple[Path, dict[str, Any]]:
    file = directory / "config.json"
    try:
        loaded = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read {file}: {error.strerror}",
            "give a folder with a config.json (--model DIR, --drafter DIR)",
        ) from error
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {error}", f"restore {file}") from error
    if not isinstance(loaded, dict):
        raise UserError(f"{file} holds no JSON object", f"restore {file}")
    return file, loaded


def _drafts(text: dict[str, Any]) -> bool:
    """Return whether a config names MTP layers: the field is there, and neither null nor 0."""
    return text.get("mtp_num_hidden_layers") not in (None, 0)


def _head_dim(field: _Fields) -> int:
    if "head_dim" in field.values and field.values["head_dim"] is not None:
        return field.size("head_dim")
    return field.size("hidden_size") // field.size("num_attention_heads")


def _layer_kinds(field: _Fields) -> list[str]:
    count = field.size("num_hidden_layers", _MAX_LAYERS)
    kinds = field.names("layer_types")
    if kinds is None:
        every = field.size("full_attention_interval")
        kinds = ["linear_attention" if (i + 1) % every else "full_attention" for i in range(count)]
    if len(kinds) != count or set(kinds) != {"linear_attention", "full_attention"}:
        raise UserError(
            f"{field.file}: layer_types names {sorted(set(kinds))} for {len(kinds)} of {count} "
            "layers; expected linear_attention and full_attention for every layer",
            "give a checkpoint of Qwen3.8-27B's architecture (--model DIR)",
        )
    return list(kinds)


def _dtype_bytes(file: Path, text: dict[str, Any], top: dict[str, Any]) -> int:
    name = next((c[k] for c in (text, top) for k in ("dtype", "torch_dtype") if c.get(k)), None)
    if name is not None and not (isinstance(name, str) and name in _DTYPE_BYTES):
        raise UserError(
            f"{file}: dtype is {name!r}", f"set it to one of: {', '.join(_DTYPE_BYTES)}"
        )
    return _DTYPE_BYTES[name] if name is not None else 2


def _drafter(directory: Path) -> Drafter:
    file, config = _read(directory)
    field = _Fields(file, config)
    dflash = field.table("dflash_config")
    layers = field.size("num_hidden_layers", _MAX_LAYERS)
    types = field.names("layer_types")
    sliding = [t == "sliding_attention" for t in types] if types else [False] * layers
    if not any(sliding):  # qwen3_dflash.py: use_swa forces every layer
        sliding = [bool(dflash.get("use_swa", False))] * layers
    window = dflash.get("swa_window_size", config.get("sliding_window"))
    whole = isinstance(window, int) and not isinstance(window, bool) and window > 0
    if len(sliding) != layers or (any(sliding) and not whole):
        raise UserError(
            f"{file}: {len(sliding)} layer_types for {layers} layers, sliding window {window!r}",
            "give a DFlash2 drafter (--drafter DIR)",
        )
    return Drafter(
        windows=tuple(window if s else None for s in sliding),
        kv_heads=field.size("num_key_value_heads"),
        head_dim=_head_dim(field),
        block_size=_Fields(file, {"dflash_config.block_size": dflash.get("block_size")}).size(
            "dflash_config.block_size"
        ),
    )
