"""A checkpoint directory as it is: every header read, the index compared with what the files hold.

Tensors are found by scanning headers, never by file name, so a file that the index does not list
(an extra MTP file) counts, and a tensor that two files hold is noticed.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwen3090_prepare.config_rules import config_problem
from qwen3090_prepare.errors import FETCH_AGAIN, PrepareError
from qwen3090_prepare.header import Stored, read_header

INDEX = "model.safetensors.index.json"
CONFIG = "config.json"
MANIFEST = "prepared.json"
_UNFINISHED = (".part", ".incomplete", ".tmp", ".lock", ".bak")  # of downloads; not carried over


@dataclass(frozen=True)
class Checkpoint:
    """Headers and config of a directory.

    Attributes:
        directory: where it is.
        config: config.json's content, or None when the file is absent.
        weight_map: tensor -> file from the index, or None when there is no index.
        tensors: every tensor of every safetensors file, by name.
        companions: the other plain files (tokenizer, chat template ...), by name.
    """

    directory: Path
    config: dict[str, Any] | None
    weight_map: dict[str, str] | None
    tensors: dict[str, Stored]
    companions: dict[str, Path]

    def file_of(self, tensor: str) -> str:
        """Name of the file that holds a tensor."""
        return self.tensors[tensor].path.name


def load(directory: Path, *, partial: bool = False) -> Checkpoint:
    """Read a checkpoint's headers, index and config.

    Args:
        directory: the checkpoint.
        partial: True for an overlay, whose index may name files that it does not ship.

    Raises:
        PrepareError: not a directory, no weights, a damaged or truncated file, a tensor in two
            files, an index that names a file or tensor that is not there, or a malformed config.
    """
    if not directory.is_dir():
        raise PrepareError(f"{directory}: no such directory", "name the checkpoint's directory")
    tensors: dict[str, Stored] = {}
    shards = sorted(directory.glob("*.safetensors"))
    if not shards:
        raise PrepareError(f"{directory}: no *.safetensors file", "fetch the checkpoint first")
    for path in shards:
        for name, stored in read_header(path).items():
            if name in tensors:
                raise PrepareError(
                    f"tensor '{name}' is in two files: {tensors[name].path} and {path}",
                    "remove the file that does not belong to this checkpoint",
                )
            tensors[name] = stored
    weight_map = _read_index(directory / INDEX)
    if weight_map is not None:
        _compare(directory, weight_map, tensors, partial)
    skip = {INDEX, CONFIG, MANIFEST}
    companions = {
        path.name: path
        for path in sorted(directory.iterdir())
        if path.is_file()
        and path.suffix not in (".safetensors", *_UNFINISHED)
        and path.name not in skip
        and not path.name.startswith(".")
    }
    return Checkpoint(directory, _read_config(directory), weight_map, tensors, companions)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; None when the file is absent; refuse a damaged one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise PrepareError(f"{path}: not valid JSON: {error}", FETCH_AGAIN) from error
    if not isinstance(content, dict):
        raise PrepareError(f"{path}: expected a JSON object", FETCH_AGAIN)
    return content


def _read_config(directory: Path) -> dict[str, Any] | None:
    config = read_json(directory / CONFIG)
    problem = config_problem(config) if config is not None else None
    if problem:
        raise PrepareError(f"{directory / CONFIG}: {problem}", FETCH_AGAIN)
    return config


def _read_index(path: Path) -> dict[str, str] | None:
    index = read_json(path)
    if index is None:
        return None
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise PrepareError(f"{path}: 'weight_map' is missing or empty", FETCH_AGAIN)
    for tensor, name in weight_map.items():
        if not isinstance(name, str) or Path(name).name != name:
            raise PrepareError(f"{path}: tensor '{tensor}' is in '{name}', not a plain file name")
    return weight_map


def _compare(
    directory: Path, weight_map: dict[str, str], tensors: dict[str, Stored], partial: bool
) -> None:
    for tensor, name in sorted(weight_map.items()):
        path = directory / name
        held = tensors.get(tensor)
        if not path.exists() and (partial and held is None):
            continue
        if not path.exists():
            raise PrepareError(
                f"{directory / INDEX}: names '{name}', which is missing", f"fetch {name}"
            )
        if held is None:
            raise PrepareError(
                f"{path}: tensor '{tensor}' is missing (the index says it is here)", FETCH_AGAIN
            )
        if held.path.name != name:
            raise PrepareError(
                f"{directory / INDEX}: says '{tensor}' is in '{name}', but it is in "
                f"'{held.path.name}'",
                "fetch the index that belongs to these shards, or remove it to have it generated",
            )
