"""Is a directory a DFlash2 drafter that fits the model: architecture, format, whole files?"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qwen3090.errors import UserError
from qwen3090.plan.geometry import Geometry
from qwen3090.serve.checkpoint import checkpoint_problems
from qwen3090.verify.report import Finding, Status

ARCHITECTURE = "DFlash2DraftModel"
QUANTIZATION = "compressed-tensors"
FETCH = "qwen3090 models fetch --variant drafter"
OTHER = "name the drafter's directory: --set drafter=DIRECTORY"


def check_drafter(
    directory: Path, model: Path | None = None, draft_tokens: int | None = None
) -> list[Finding]:
    """Check a drafter from its files' headers and config.json; reads no weight.

    Args:
        directory: the drafter.
        model: the checkpoint it drafts for; None leaves out whether the two fit.
        draft_tokens: tokens that it is to draft a step; None leaves that out.
    """
    broken = list(checkpoint_problems(directory, tokenizer=False))
    if broken:
        return [Finding("drafter.files", Status.FAIL, text, FETCH) for text in broken]
    found = [Finding("drafter.files", Status.PASS, f"{directory}: every file is whole")]
    config = _config(directory)
    found += [*_architecture(directory, config, draft_tokens), *_quantization(directory, config)]
    target = _config(model) if model is not None else {}
    if target:
        nested = target.get("text_config")
        text = nested if isinstance(nested, dict) else target
        found += [*_fits(directory, config, text), *_taps(directory, config, text)]
    return found


def _config(directory: Path) -> dict[str, Any]:
    """Return config.json, empty when it cannot be read (which the check of files reports)."""
    try:
        loaded = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _architecture(
    directory: Path, config: dict[str, Any], draft_tokens: int | None
) -> Iterator[Finding]:
    names = config.get("architectures")
    if names != [ARCHITECTURE]:
        text = f"{directory}/config.json: architectures is {names!r}, expected ['{ARCHITECTURE}']"
        yield Finding("drafter.architecture", Status.FAIL, text, OTHER)
        return
    try:
        shape = Geometry.drafter_of(directory)
    except UserError as error:
        yield Finding("drafter.architecture", Status.FAIL, error.message, error.next_step or OTHER)
        return
    text = f"{ARCHITECTURE}, {len(shape.windows)} layers, blocks of {shape.block_size} tokens"
    yield Finding("drafter.architecture", Status.PASS, text)
    if draft_tokens is None:
        return
    # One token of a block is the anchor, which is known; the rest are drafted.
    text = f"draft_tokens = {draft_tokens} and its anchor, blocks hold {shape.block_size}"
    if shape.block_size < draft_tokens + 1:
        cure = f"--set draft_tokens={shape.block_size - 1}"
        yield Finding("drafter.block", Status.FAIL, text, cure)
    else:
        yield Finding("drafter.block", Status.PASS, text)


def _quantization(directory: Path, config: dict[str, Any]) -> Iterator[Finding]:
    settings = config.get("quantization_config")
    if not settings:
        text = f"{directory} is not quantized: 2.6 GB more of the card, and slower steps"
        yield Finding("drafter.quantization", Status.WARN, text, FETCH)
        return
    method = settings.get("quant_method") if isinstance(settings, dict) else settings
    if method != QUANTIZATION:
        text = f"{directory}/config.json: quant_method is {method!r}, expected '{QUANTIZATION}'"
        yield Finding("drafter.quantization", Status.FAIL, text, FETCH)
        return
    yield Finding("drafter.quantization", Status.PASS, f"{method}, {_bits(settings)}")


def _bits(settings: dict[str, Any]) -> str:
    groups = settings.get("config_groups")
    weights = [g.get("weights") for g in groups.values()] if isinstance(groups, dict) else []
    bits = sorted({str(w["num_bits"]) for w in weights if isinstance(w, dict) and "num_bits" in w})
    return f"{' and '.join(bits)} bits" if bits else "bits not named"


def _fits(directory: Path, config: dict[str, Any], target: dict[str, Any]) -> Iterator[Finding]:
    pairs = (
        ("hidden_size", "hidden_size"),
        ("vocab_size", "vocab_size"),
        ("num_target_layers", "num_hidden_layers"),
    )
    wrong = [
        f"{mine} is {config.get(mine)!r}, the model's {its} is {target.get(its)!r}"
        for mine, its in pairs
        if config.get(mine) != target.get(its)
    ]
    if wrong:
        text = f"{directory} was made for another model: {'; '.join(wrong)}"
        yield Finding("drafter.fits", Status.FAIL, text, OTHER)
    else:
        yield Finding("drafter.fits", Status.PASS, "width, vocabulary and layers are the model's")


def _taps(directory: Path, config: dict[str, Any], target: dict[str, Any]) -> Iterator[Finding]:
    """The drafter reads hidden states of layers that the model must have."""
    own = config.get("dflash_config")
    layers = own.get("target_layer_ids") if isinstance(own, dict) else None
    count = target.get("num_hidden_layers")
    if not isinstance(layers, list) or not layers or not isinstance(count, int):
        text = f"{directory}/config.json: dflash_config.target_layer_ids is {layers!r}"
        yield Finding("drafter.layers", Status.FAIL, text, OTHER)
    elif wrong := [i for i in layers if not isinstance(i, int) or not 0 <= i < count]:
        text = f"{directory}: reads layer {wrong[0]!r}, the model has layers 0 to {count - 1}"
        yield Finding("drafter.layers", Status.FAIL, text, OTHER)
    else:
        text = f"reads layers {layers} of the model's {count}"
        yield Finding("drafter.layers", Status.PASS, text)
