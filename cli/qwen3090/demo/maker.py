"""Write the demo checkpoint: base, drafter in two formats, and the fast variant's overlay."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from qwen3090.demo import configs, detector, drafter, inventory, pack, small_configs, story, weights
from qwen3090.demo.dims import TINY, Dims
from qwen3090.demo.drafter_inventory import drafter as drafter_inventory
from qwen3090.demo.drafter_inventory import drafter_linears
from qwen3090.demo.fill import Array
from qwen3090.demo.inventory import Inventory
from qwen3090.demo.tokenizer import FORCED, special_id, tokenizer_files, train
from qwen3090.demo.writer import Tensors, to_torch, write_index, write_json, write_tensors


def write_all(base: Path, bf16: Path, int4: Path, overlay: Path, dims: Dims = TINY) -> None:
    """Write the four directories (they exist and are empty)."""
    tokenizer = train(dims)
    told = story.build(dims, tokenizer)
    blank = story.piece_id(tokenizer, "\n\n")
    tables = {
        f"{inventory.BODY}embed_tokens.weight": weights.embedding(dims, told, blank),
        "lm_head.weight": weights.head(dims, told),
    }
    _base(base, dims, told, tables)
    for name, text in tokenizer_files(dims, tokenizer).items():
        (base / name).write_text(text, encoding="utf-8")
    _drafters(bf16, int4, dims, told)
    _overlay(overlay, dims, told)


def _packed(name: str, parts: pack.Packed) -> Tensors:
    codes, scale, shape = parts
    return {
        f"{name}.weight_packed": to_torch(codes),
        f"{name}.weight_scale": to_torch(scale),
        f"{name}.weight_shape": to_torch(shape),
    }


def _base(out: Path, dims: Dims, told: story.Story, tables: dict[str, Array]) -> None:
    files = dict(inventory.base_files(dims))
    for file, tensors in files.items():
        values = weights.plain({n: s for n, s in tensors.items() if n not in tables})
        values |= {name: table for name, table in tables.items() if name in tensors}
        found: Tensors = {name: to_torch(value) for name, value in values.items()}
        for name, spec in tensors.items():
            linear, dot, part = name.rpartition(".weight_packed")
            if dot and not part:
                shape = (spec.shape[0], spec.shape[1] * 8)
                value = detector.edit(linear, weights.tensor(linear, shape), dims, told)
                found |= _packed(linear, pack.signed_int4(value))
        write_tensors(out / file, found, tensors, metadata=False)
    counted = {file: part for file, part in files.items() if file != inventory.EXTRAS_FILE}
    write_index(out / "model.safetensors.index.json", files, counted)
    write_json(out / "config.json", configs.model(dims, configs.base_quantization(dims)))
    quantization = configs.quantization_file(dims)
    write_json(out / "quantization_config.json", quantization, newline=False)
    write_json(out / "generation_config.json", small_configs.generation(dims))
    write_json(out / "processor_config.json", small_configs.processor())


def _drafters(bf16: Path, int4: Path, dims: Dims, told: story.Story) -> None:
    values = drafter.tensors(dims, told)
    plain = {name: to_torch(value) for name, value in values.items()}
    wanted = drafter_inventory(dims, int4=False)
    write_tensors(bf16 / "model.safetensors", plain, wanted, metadata=False)
    write_json(bf16 / "config.json", small_configs.drafter(dims))
    for name in drafter_linears(dims):
        del plain[f"{name}.weight"]
        plain |= _packed(name, pack.plain_int4(values[f"{name}.weight"]))
    wanted = drafter_inventory(dims, int4=True)
    write_tensors(int4 / "model.safetensors", plain, wanted, metadata=True)
    write_json(int4 / "config.json", small_configs.drafter_int4(dims), newline=False)


def _overlay(out: Path, dims: Dims, told: story.Story) -> None:
    ids = story.draft_vocabulary(dims, told, [special_id(dims, name) for name in FORCED])
    head_parts = pack.plain_int4(_as_bf16(weights.head(dims, told)))
    wanted = inventory.overlay_head(dims)
    found = _packed("lm_head", head_parts)
    write_tensors(out / inventory.HEAD_FILE, found, wanted, metadata=True)

    wanted = inventory.overlay_extras(dims)
    values = weights.plain(wanted)
    extra: Tensors = {name: to_torch(value) for name, value in values.items()}
    for name, shape in inventory.mtp_linears(dims).items():
        linear = _as_bf16(weights.tensor(f"{name}.weight", shape))
        extra |= _packed(name, pack.plain_int4(linear))
    rows, scales, _ = head_parts
    shape_of = np.array([len(ids), dims.hidden], dtype=np.int64)
    extra |= _packed("mtp.draft_lm_head", (rows[ids], scales[ids], shape_of))
    write_tensors(out / inventory.EXTRAS_FILE, extra, wanted, metadata=True)

    torch.save(torch.tensor(ids, dtype=torch.int64), out / "mtp_draft_vocab_ids.pt")
    write_json(out / "draft_vocab_ids.json", ids)
    config = configs.model(dims, configs.overlay_quantization(dims))
    write_json(out / "config.json", config, newline=False)
    files: dict[str, Inventory] = dict(inventory.base_files(dims))
    files[inventory.EMBED_FILE] = inventory.overlay_embedding(dims)
    files[inventory.HEAD_FILE] = inventory.overlay_head(dims)
    files[inventory.EXTRAS_FILE] = wanted
    write_index(out / "model.safetensors.index.json", files, files)


def _as_bf16(value: Array) -> Array:
    """Round to bf16, as the published tools quantize bf16 weights."""
    rounded: np.ndarray[Any, np.dtype[np.float32]] = to_torch(value).float().numpy()
    return rounded
