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


def check_drafter(directory: Path, model: Path | None = None) -> list[Finding]:
    """Check a drafter from its files' headers and config.json; reads no weight.

    Args:
        directory: the drafter.
        model: the checkpoint it drafts for; None leaves out whether the two fit.
    """
    broken = list(checkpoint_problems(directory, tokenizer=False))
    if broken:
        return [Finding("drafter.files", Status.FAIL, text, FETCH) for text in broken]
    found = [Finding("drafter.files", Status.PASS, f"{directory}: every file is whole")]
    config = _config(directory)
    found += [*_architecture(directory, config), *_quantization(directory, config)]
    target = _config(model) if model is not None else {}
    if target:
        text = target.get("text_config")
        found += _fits(directory, config, text if isinstance(text, dict) else target)
    return found


def _config(directory: Path) -> dict[str, Any]:
    """Return config.json, empty when it cannot be read (which the check of files reports)."""
    try:
        loaded = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _architecture(directory: Path, config: dict[str, Any]) -> Iterator[Finding]:
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
