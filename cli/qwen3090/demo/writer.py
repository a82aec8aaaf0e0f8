"""Write tensors, indexes and JSON files as the published checkpoints have them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from qwen3090.demo.inventory import Inventory, payload

Tensors = dict[str, torch.Tensor]
_DTYPES = {
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int32: "I32",
    torch.int64: "I64",
}


def to_torch(value: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return ``value`` as a tensor; float32 becomes bf16, other dtypes stay."""
    found = torch.from_numpy(np.ascontiguousarray(value))
    return found.to(torch.bfloat16) if found.dtype == torch.float32 else found


def write_tensors(path: Path, tensors: Tensors, inventory: Inventory, *, metadata: bool) -> None:
    """Write one safetensors file.

    Raises:
        ValueError: names, dtypes or shapes differ from ``inventory``.
    """
    found = {name: (_DTYPES.get(t.dtype), tuple(t.shape)) for name, t in tensors.items()}
    wanted = {name: (spec.dtype, spec.shape) for name, spec in inventory.items()}
    if found != wanted:
        wrong = sorted(set(found.items()) ^ set(wanted.items()))
        raise ValueError(f"{path.name} does not match the inventory: {wrong[:4]}")
    path.write_bytes(save(tensors, metadata={"format": "pt"} if metadata else None))


def write_json(path: Path, value: Any, *, newline: bool = True) -> None:
    """Write JSON with two spaces of indentation, keys in the given order."""
    path.write_text(json.dumps(value, indent=2) + "\n" * newline, encoding="utf-8")


def write_index(
    path: Path, files: Mapping[str, Inventory], counted: Mapping[str, Inventory]
) -> None:
    """Write ``model.safetensors.index.json``: where each tensor is, and the size of ``counted``."""
    places = {name: file for file, inventory in files.items() for name in inventory}
    total = sum(payload(inventory) for inventory in counted.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
    write_json(path, index)
