"""The rules that a base and a prepared checkpoint share; each yields findings, none reads weights.

They work on names, dtypes, shapes, config.json and the tokenizer: milliseconds for 20 GB.
"""

import json
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from qwen3090_prepare.checkpoint import CONFIG, Checkpoint
from qwen3090_prepare.errors import FETCH_AGAIN
from qwen3090_prepare.findings import Finding
from qwen3090_prepare.header import Stored
from qwen3090_prepare.names import (
    PACKED_PARTS,
    expected_shape,
    find_embedding,
    find_head,
    modules,
    required_mtp,
    text_config,
)
from qwen3090_prepare.quantize import GROUP
from qwen3090_prepare.scheme import resolve_bits

_LAYER = re.compile(r"^(.*\.layers\.)(\d+)\.(.+)$")
_TABLES = ("lm_head", "embed_tokens", "draft_lm_head")  # not of the engine's class Linear
_FLOATS = ("BF16", "F16", "F32")


def shared_rules(checkpoint: Checkpoint, config: dict[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with tensors, scales, layers and tokenizer of a whole checkpoint.

    Raises:
        PrepareError: there is no output head or no embedding, or there are two.
    """
    find_embedding(checkpoint.tensors)
    find_head(checkpoint.tensors)
    yield from tokenizer(checkpoint.companions.get("tokenizer.json"), checkpoint.directory)
    yield from tensors(checkpoint.tensors, config)
    yield from layers(checkpoint, config)


def tokenizer(path: Path | None, directory: Path) -> Iterator[Finding]:
    """A missing tokenizer would become an empty vocabulary, and fail long after the start."""
    where, cure = directory / "tokenizer.json", "fetch tokenizer.json of the base checkpoint"
    if path is None:
        yield Finding("error", "tokenizer", f"{where}: missing", cure)
        return
    try:
        vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"{where}: not a tokenizer ({type(error).__name__}: {error})"
        yield Finding("error", "tokenizer", problem, cure)
        return
    if not vocabulary or not isinstance(vocabulary, (dict, list)):
        problem = f"{where}: its vocabulary is empty or not a table"
        yield Finding("error", "tokenizer", problem, cure)


def tensors(held: dict[str, Stored], config: dict[str, Any]) -> Iterator[Finding]:
    """Check every module: whole, of the right shape, its bits as config.json says."""
    scales: dict[str, str] = {}
    for module, parts in sorted(modules(held).items()):
        packed = parts & set(PACKED_PARTS)
        if packed and "weight" in parts:
            problem = f"module '{module}' is there twice: plain and packed"
            yield Finding("error", "duplicate", problem, "remove the file that does not belong")
        elif packed != set(PACKED_PARTS) and packed:
            name = f"{module}.{sorted(set(PACKED_PARTS) - packed)[0]}"
            path = held[f"{module}.{sorted(packed)[0]}"].path
            problem = f"{path}: tensor '{name}' is missing"
            yield Finding("error", "missing", problem, FETCH_AGAIN)
        elif packed:
            linear = module.rpartition(".")[2] not in _TABLES
            yield from _packed(module, held, config, linear)
            scale = held[f"{module}.weight_scale"]
            if linear and not module.startswith("mtp."):
                scales.setdefault(scale.spec.dtype, f"{scale.path}: '{scale.spec.name}'")
        elif "weight" in parts:
            yield from _plain(module, held[f"{module}.weight"], config)
    if len(scales) > 1:
        found = "; ".join(f"{where} is {dtype}" for dtype, where in sorted(scales.items()))
        problem = f"group scales of two dtypes: {found}"
        yield Finding("error", "scale-dtype", problem, FETCH_AGAIN)


def _packed(
    module: str, held: dict[str, Stored], config: dict[str, Any], linear: bool
) -> Iterator[Finding]:
    weight, scale, shape = (held[f"{module}.{part}"] for part in PACKED_PARTS)
    where = f"{weight.path}: '{module}'"
    if shape.spec.dtype != "I64" or shape.spec.shape != (2,) or weight.spec.dtype != "I32":
        problem = f"{where}: weight_shape must be I64 [2] and weight_packed I32"
        yield Finding("error", "layout", problem, FETCH_AGAIN)
        return
    rows, width = read_shape(shape)
    wanted = expected_shape(module, config)
    if wanted is not None and wanted != (rows, width):
        problem = f"{where}: shape {[rows, width]}, config.json wants {list(wanted)}"
        yield Finding("error", "shape", problem, FETCH_AGAIN)
        return
    if len(weight.spec.shape) != 2 or width <= 0 or width % GROUP:
        problem = f"{where}: shape {[rows, width]}, the columns must be a multiple of {GROUP}"
        yield Finding("error", "shape", problem, FETCH_AGAIN)
        return
    bits = bits_of(weight, width)
    expected = resolve_bits(config, module, linear=linear)
    if bits not in (4, 8) or weight.spec.shape != (rows, width * bits // 32):
        problem = (
            f"{where}: weight_packed {list(weight.spec.shape)} does not hold {[rows, width]} "
            "in 4 or 8 bits"
        )
        yield Finding("error", "shape", problem, FETCH_AGAIN)
    elif bits != expected:
        told = "leaves it unquantized" if expected is None else f"says {expected} bits"
        problem = f"{where} has {bits} bits, but config.json {told}"
        cure = f"prepare from the base again, or correct {CONFIG}"
        yield Finding("error", "bits", problem, cure)
    if scale.spec.shape != (rows, width // GROUP):
        problem = f"{where}: weight_scale {list(scale.spec.shape)}, expected {[rows, width // 128]}"
        yield Finding("error", "shape", problem, FETCH_AGAIN)
    allowed = scale_dtypes(module)
    if scale.spec.dtype not in allowed:
        problem = f"{where}: group scales are {scale.spec.dtype}, must be {' or '.join(allowed)}"
        yield Finding("error", "scale-dtype", problem, "prepare this module again from the base")


def _plain(module: str, weight: Stored, config: dict[str, Any]) -> Iterator[Finding]:
    wanted = expected_shape(module, config)
    if wanted is not None and weight.spec.shape != wanted:
        problem = (
            f"{weight.path}: '{weight.spec.name}' has shape {list(weight.spec.shape)}, "
            f"config.json wants {list(wanted)}"
        )
        yield Finding("error", "shape", problem, FETCH_AGAIN)
    preparable = module.rpartition(".")[2] in _TABLES or module in required_mtp(config)
    if preparable and weight.spec.dtype not in _FLOATS:
        problem = f"{weight.path}: '{weight.spec.name}' is {weight.spec.dtype}, not a float type"
        yield Finding("error", "dtype", problem, FETCH_AGAIN)


def scale_dtypes(module: str) -> tuple[str, ...]:
    """Dtypes that a module's group scales may have.

    The engine allocates embedding scales in bf16. Head and MTP are written as fp16, as in the
    published checkpoint; a body may come with either, but with one of them throughout.
    """
    leaf = module.rpartition(".")[2]
    if leaf == "embed_tokens":
        return ("BF16",)
    return ("F16",) if leaf == "lm_head" or module.startswith("mtp.") else ("F16", "BF16")


def bits_of(weight: Stored, width: int) -> int:
    """Bits per weight of a packed tensor of ``width`` input columns (0 when it does not divide)."""
    words = 32 * weight.spec.shape[-1]
    return words // width if width and words % width == 0 else 0


def read_shape(stored: Stored) -> tuple[int, int]:
    """Read the two numbers of a ``weight_shape`` tensor: out, in."""
    with stored.path.open("rb") as file:
        file.seek(stored.offset)
        rows, width = struct.unpack("<2q", file.read(16))
    return rows, width


def layers(checkpoint: Checkpoint, config: dict[str, Any]) -> Iterator[Finding]:
    """A module that its sister layers have, or a whole layer, may be missing from every file."""
    text = text_config(config)
    kinds = text.get("layer_types") or []
    found: dict[int, set[str]] = {}
    for module in modules(n for n in checkpoint.tensors if not n.startswith("mtp.")):
        match = _LAYER.match(module)
        if match and "visual" not in module:
            found.setdefault(int(match[2]), set()).add(match[3])
    count = int(text.get("num_hidden_layers") or 0)
    for index in sorted(set(range(count)) - set(found)):
        problem = f"{checkpoint.directory}: layer {index} of {count} is missing"
        yield Finding("error", "missing", problem, "fetch every shard of the base")
    for kind in sorted(set(kinds)):
        group = [i for i, k in enumerate(kinds) if k == kind and i in found]
        every = set().union(*(found[i] for i in group))
        for index in group:
            for module in sorted(every - found[index]):
                problem = f"{checkpoint.directory}: layer {index} lacks '{module}'"
                yield Finding("error", "missing", problem, "fetch every shard of the base")
    yield from _mtp_complete(checkpoint, required_mtp(config))


def _mtp_complete(checkpoint: Checkpoint, required: Iterable[str]) -> Iterator[Finding]:
    held = modules(checkpoint.tensors)
    for module in required:
        if not held.get(module, set()) & {"weight", "weight_packed"}:
            problem = f"{checkpoint.directory}: MTP module '{module}' is missing"
            cure = "fetch model_extra_tensors.safetensors of the base (its MTP module)"
            yield Finding("error", "missing", problem, cure)
