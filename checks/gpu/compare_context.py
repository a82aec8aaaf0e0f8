"""Compares the drafter's dense context projection, saved by bench.py, with its int4 file.

usage: compare_context.py SAVED.pt DRAFTER/model.safetensors   It unpacks with numpy.
"""

import sys
from typing import Any

import numpy as np
import torch
from safetensors import safe_open

LAYERS, COLUMNS, STEP = 5, 256, 7  # as looks.py saves it: every 7th row, 256 columns


def dense(file: Any, name: str) -> torch.Tensor:
    """Return [rows, 256] float32 of an int4 linear, group 128."""
    words = file.get_tensor(f"{name}.weight_packed")[:, : COLUMNS // 8].numpy().view(np.uint32)
    codes = np.stack([(words >> np.uint32(4 * lane)) & 15 for lane in range(8)], -1)
    codes = codes.reshape(len(words), COLUMNS).astype(np.float32) - 8
    scale = file.get_tensor(f"{name}.weight_scale")[:, : COLUMNS // 128].to(torch.bfloat16).float()
    return torch.from_numpy(codes) * scale.repeat_interleave(128, 1)


def main() -> int:
    saved = torch.load(sys.argv[1])["context kv"]
    with safe_open(sys.argv[2], "pt") as file:
        parts = [
            dense(file, f"layers.{layer}.self_attn.{part}_proj")
            for layer in range(LAYERS)
            for part in ("k", "v")
        ]
    reference = torch.cat(parts)[::STEP].to(torch.bfloat16).float()
    same = torch.equal(saved, reference)
    print(f"context projection {tuple(saved.shape)} equals the file's, bit for bit: {same}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
