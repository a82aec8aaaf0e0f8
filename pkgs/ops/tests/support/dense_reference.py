"""Writes the dense twin of a prepared checkpoint: `dense_reference.py PREPARED OUT [float32]`.

The twin has no quantization_config and no draft vocabulary: what vLLM does with it needs none of
the code under test. Written without qwen3090_ops on purpose, so that both cannot share a mistake.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file


def dense(packed, scale, shape):
    """Return float32 [rows, columns]; bits follow from the recorded shape."""
    rows, columns = (int(n) for n in shape)
    bits = 32 * packed.shape[1] // columns
    words = packed.numpy().view(np.uint32)
    codes = np.empty((rows, columns), dtype=np.float32)
    for lane in range(32 // bits):
        lane_codes = (words >> np.uint32(lane * bits)) & np.uint32(2**bits - 1)
        codes[:, lane :: 32 // bits] = lane_codes.astype(np.float32) - 2 ** (bits - 1)
    per_column = np.repeat(scale.float().numpy(), columns // scale.shape[1], axis=1)
    return torch.from_numpy(codes * per_column)


def main():
    """Write OUT/model.safetensors, its config, and copies of the tokenizer files."""
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    dtype = getattr(torch, sys.argv[3]) if len(sys.argv) > 3 else torch.float32
    out.mkdir(parents=True)
    tensors = {}
    for shard in sorted(source.glob("*.safetensors")):
        with safe_open(shard, "pt") as file:
            tensors.update({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    written = {}
    for name, tensor in tensors.items():
        if name.startswith("mtp.draft_lm_head.") or name.endswith(("_scale", "_shape")):
            continue
        if name.endswith(".weight_packed"):
            stem = name.removesuffix("_packed")
            tensor = dense(tensor, tensors[stem + "_scale"], tensors[stem + "_shape"])
            name = stem
        written[name] = tensor.to(dtype).contiguous()
    save_file(written, out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config.pop("quantization_config")
    (out / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(source / name, out)
    for name in ("processor_config.json", "chat_template.jinja"):
        if (source / name).exists():
            shutil.copy(source / name, out)


if __name__ == "__main__":
    main()
