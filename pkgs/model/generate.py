"""Writes the files of a fetched repository that the manifest calls generated.

usage: generate.py REPOSITORY DIRECTORY   (DIRECTORY holds every downloaded file)
"""

import sys
from pathlib import Path

from qwen3090.models.generate import generate
from qwen3090.models.manifest import load_manifest


def main(name: str, directory: Path) -> None:
    """Write each generated file of the repository."""
    repository = load_manifest().repositories[name]
    for entry in repository.generated:
        (directory / entry.path).write_bytes(generate(entry.generated_by, directory, repository))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
