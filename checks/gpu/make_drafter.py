"""Writes an int4 DFlash2 drafter of noise that fits any checkpoint of the architecture.

usage: make_drafter.py CHECKPOINT DIR [--device cpu]

A trained checkpoint can then be asked with a profile that drafts with DFlash2 (residues.py): its
groups, blocks and steps are those of the profile, and hardly a draft is accepted.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from make_checkpoint import Maker
from qwen3090.demo import drafter_inventory, small_configs
from qwen3090.demo.dims import TINY, Dims


def dims_of(checkpoint: Path) -> Dims:
    """Return the demo's sizes with those of a checkpoint that its drafter has to share."""
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    text = config.get("text_config", config)
    layers = text["num_hidden_layers"]
    return replace(
        TINY,
        hidden=text["hidden_size"],
        intermediate=text["intermediate_size"],
        layers=layers,
        vocab=text["vocab_size"],
        max_positions=text["max_position_embeddings"],
        draft_targets=tuple(1 + n * (layers - 3) // 4 for n in range(5)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    dims = dims_of(given.checkpoint)
    given.directory.mkdir(parents=True)
    of = drafter_inventory.drafter(dims, int4=True)
    Maker(dims, given.device).write(given.directory / "model.safetensors", of)
    config = json.dumps(small_configs.drafter_int4(dims), indent=2)
    (given.directory / "config.json").write_text(config, encoding="utf-8")


if __name__ == "__main__":
    main()
