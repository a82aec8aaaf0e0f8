"""Is a model directory whole? Reads headers and JSON only, so it takes well under a second.

``qwen3090 verify --model`` checks every rule of a prepared checkpoint; this is what can stop a load
late: a missing or truncated shard, an index that names tensors no shard has, an empty tokenizer.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwen3090.models.headers import read_header

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"


def checkpoint_problems(directory: Path, *, tokenizer: bool = True) -> Iterator[str]:
    """Yield what is wrong with a checkpoint directory, each text naming the file.

    Args:
        directory: what vLLM would load.
        tokenizer: whether the directory must hold a tokenizer (a drafter's does not).
    """
    if not directory.is_dir():
        yield f"{directory} is not a directory"
        return
    config = _json(directory / "config.json")
    if isinstance(config, str):
        yield config
    if tokenizer:
        yield from _tokenizer(directory)
    yield from _weights(directory)


def _json(path: Path) -> dict[str, Any] | str:
    """Return a JSON object, or what is wrong with the file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return f"{path}: {error.strerror}"
    except ValueError as error:
        return f"{path}: not valid JSON: {error}"
    return value if isinstance(value, dict) else f"{path}: not a JSON object"


def _tokenizer(directory: Path) -> Iterator[str]:
    path = directory / "tokenizer.json"
    found = _json(path)
    if isinstance(found, str):
        yield found
        return
    model = found.get("model")
    if not (isinstance(model, dict) and model.get("vocab")):
        yield f"{path}: the vocabulary is empty"
    settings = _json(directory / "tokenizer_config.json")
    if isinstance(settings, str):
        yield settings


def _weights(directory: Path) -> Iterator[str]:
    index_path = directory / INDEX
    if not index_path.exists():
        if not (directory / SINGLE).exists():
            yield f"{directory}: neither {INDEX} nor {SINGLE}"
            return
        header = _header(directory / SINGLE)
        if isinstance(header, str):
            yield header
        return
    index = _json(index_path)
    if isinstance(index, str):
        yield index
        return
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        yield f"{index_path}: weight_map is missing or empty"
        return
    yield from _shards(directory, weight_map)


def _shards(directory: Path, weight_map: dict[str, str]) -> Iterator[str]:
    wanted: dict[str, list[str]] = {}
    for tensor, shard in weight_map.items():
        wanted.setdefault(str(shard), []).append(tensor)
    for shard in sorted(wanted):
        if not shard or shard != Path(shard).name or "\0" in shard:
            yield f"{directory / INDEX}: {shard!r} is not the name of a file beside it"
            continue
        header = _header(directory / shard)
        if isinstance(header, str):
            yield header
            continue
        absent = [name for name in wanted[shard] if name not in header]
        if absent:
            more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
            yield f"{directory / shard}: the index names {absent[0]}{more}, which it does not hold"


def _header(path: Path) -> dict[str, tuple[int, int]] | str:
    try:
        found = read_header(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return f"{path}: {found}" if isinstance(found, str) else found
