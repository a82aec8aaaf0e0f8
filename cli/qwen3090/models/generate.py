"""Files that are written here, not fetched, because no public hash of them is known.

The bytes come from the package that prepares checkpoints, which reads the same two files.
"""

import json
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.models.headers import read_header
from qwen3090.models.manifest import ModelRepository


def generate(kind: str, directory: Path, repository: ModelRepository) -> bytes:
    """Return the bytes of a generated file.

    Args:
        kind: ``base-config`` (config.json from the architecture's public values) or
            ``safetensors-index`` (model.safetensors.index.json from the shards' headers).
        directory: holds every downloaded file of the repository.
        repository: its manifest entry.

    Raises:
        UserError: a shard cannot be read, or two shards hold the same tensor.
    """
    if kind == "safetensors-index":
        return _index(directory, repository)
    from qwen3090_prepare.base_config import generated_base_config

    return (json.dumps(generated_base_config(), indent=2) + "\n").encode()


def _index(directory: Path, repository: ModelRepository) -> bytes:
    from qwen3090_prepare.index import index_bytes

    weight_map: dict[str, str] = {}
    total = 0
    for entry in sorted(repository.files, key=lambda file: file.path):
        if not entry.path.endswith(".safetensors"):
            continue
        header = read_header(directory / entry.path)
        if isinstance(header, str):
            raise UserError(
                f"{directory / entry.path}: {header}",
                "the manifest names a file that is not a checkpoint's: check the manifest",
            )
        for name, (start, stop) in header.items():
            if name in weight_map:
                raise UserError(
                    f"tensor {name} stands in {weight_map[name]} and in {entry.path}",
                    "leave one of the two out of the manifest",
                )
            weight_map[name] = entry.path
            total += stop - start
    return index_bytes(weight_map, total)
