"""Writes a directory that passes for a checkpoint: whole by the server's rules, and empty."""

import json
import struct
import sys
from pathlib import Path

out = Path(sys.argv[1])
out.mkdir(parents=True)
header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
(out / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
(out / "config.json").write_text(json.dumps({"model_type": "stub"}))
(out / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"x": 0}}}))
(out / "tokenizer_config.json").write_text("{}")
