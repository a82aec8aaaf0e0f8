"""From options and checkpoints to the finished draft: all steps planned, config and index made."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qwen3090_prepare import scheme
from qwen3090_prepare.base_config import config_for
from qwen3090_prepare.checkpoint import CONFIG, INDEX, Checkpoint, load
from qwen3090_prepare.draft import Draft, StepPlan, start
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.findings import refuse_errors
from qwen3090_prepare.index import index_bytes
from qwen3090_prepare.names import (
    DRAFT_HEAD,
    DRAFT_IDS,
    find_embedding,
    find_head,
    modules,
    mtp_linears,
)
from qwen3090_prepare.options import Options
from qwen3090_prepare.overlay import check_index, overlay
from qwen3090_prepare.rules import shared_rules
from qwen3090_prepare.steps import draft_vocab, embed, lm_head, mtp, width_and_bits


@dataclass(frozen=True)
class Prepared:
    """A planned run.

    Attributes:
        draft: the tensors and jobs of every file.
        companions: other files that are linked as they are, by name.
        plans: what each step does.
        sources: every input file, by ("base" | "overlay" | "draft_vocab", name).
    """

    draft: Draft
    companions: dict[str, Path]
    plans: tuple[StepPlan, ...]
    sources: dict[tuple[str, str], Path]


def plan_run(base_dir: Path, options: Options) -> Prepared:
    """Read headers, check every rule of the inputs and plan each step; writes nothing.

    Raises:
        PrepareError: the base or the overlay breaks a rule, or a step cannot be done.
    """
    base = load(base_dir)
    config = base.config if base.config is not None else config_for(base)
    refuse_errors(shared_rules(base, config))
    variant = load(options.overlay, partial=True) if options.overlay else None
    draft, plans = start(base), []
    for step in options.steps:
        plan = _plan_step(step, draft, options, config, variant)
        plans.append(plan)
        draft = draft.apply(plan)
    companions = {n: p for n, p in base.companions.items() if n not in (DRAFT_IDS, *draft.files)}
    if DRAFT_IDS not in draft.files and f"{DRAFT_HEAD}.weight_packed" in draft.tensors:
        if DRAFT_IDS not in base.companions:
            raise PrepareError(
                f"{base_dir / DRAFT_IDS}: missing, but the checkpoint has a draft head",
                "fetch it from where the draft head came",
            )
        companions[DRAFT_IDS] = base.companions[DRAFT_IDS]
    small = {
        CONFIG: _config(draft, base, config, variant),
        INDEX: _index(draft, variant),
    }
    draft = replace(draft, files={**draft.files, **small})
    return Prepared(draft, companions, tuple(plans), _sources(base, variant, options))


def _plan_step(
    step: str,
    draft: Draft,
    options: Options,
    config: dict[str, Any],
    variant: Checkpoint | None,
) -> StepPlan:
    if step == "lm-head":
        return lm_head(draft, options.head_bits)
    if step == "embed":
        return embed(draft, options.embed_bits)
    if step == "mtp":
        return mtp(draft, options.mtp_bits, config)
    if step == "draft-vocab":
        return draft_vocab(draft, options.draft_vocab)
    assert variant is not None
    return overlay(draft, variant, config)


def _config(
    draft: Draft, base: Checkpoint, config: dict[str, Any], variant: Checkpoint | None
) -> bytes:
    """Return config.json: the overlay's, the base's when nothing is packed, or an edited one."""
    held = modules(draft.tensors)
    parts = {
        "head": [find_head(draft.tensors)],
        "embed": [find_embedding(draft.tensors)],
        "mtp": mtp_linears(draft.tensors),
    }
    bits: dict[str, int] = {}
    packed = [DRAFT_HEAD] if "weight_packed" in held.get(DRAFT_HEAD, ()) else []
    for part, names in parts.items():
        for name in names:
            if "weight_packed" in held[name]:
                bits[part] = width_and_bits(draft, name)[1]
                packed.append(name)
    if variant is not None and variant.config is not None:
        edited, data = variant.config, (variant.directory / CONFIG).read_bytes()
    else:
        plain = [name for name in parts["mtp"] if "weight" in held[name]]
        others = set(held) - set(packed)
        edited = scheme.edit(config, bits, packed, plain, others)
        same = edited == base.config
        data = (base.directory / CONFIG).read_bytes() if same else scheme.dump(edited)
    for name in (*packed, *parts["head"], *parts["embed"]):
        want = width_and_bits(draft, name)[1] if name in packed else None
        told = scheme.resolve_bits(edited, name, linear=name in parts["mtp"])
        if told != want:
            raise PrepareError(
                f"{CONFIG}: says {told} bits for '{name}', its tensors have {want or 'bf16'}",
                _cure(draft, name, told),
            )
    return data


def _cure(draft: Draft, module: str, told: int | None) -> str:
    """Return how to make a module and the overlay's config.json agree."""
    packed = draft.tensors.get(f"{module}.weight_packed")
    if told in (4, 8) and packed is None:
        return "add --step embed, or correct the overlay's config.json"
    if told in (4, 8) and packed is not None and packed.source is None:
        return f"give the bits that the overlay has: --embed-bits {told}"
    return "start from the base with bf16 weights, or correct the overlay's config.json"


def _index(draft: Draft, variant: Checkpoint | None) -> bytes:
    """Return the index: the overlay's own when it says exactly the same, else a sorted one."""
    weight_map = {name: placed.file for name, placed in sorted(draft.tensors.items())}
    if variant is not None and variant.weight_map is not None:
        check_index(variant, weight_map)
        if variant.weight_map == weight_map:
            return (variant.directory / INDEX).read_bytes()
    total = sum(placed.spec.nbytes for placed in draft.tensors.values())
    return index_bytes(weight_map, total)


def _sources(
    base: Checkpoint, variant: Checkpoint | None, options: Options
) -> dict[tuple[str, str], Path]:
    found = {("base", name): path for name, path in base.companions.items()}
    for kind, checkpoint in (("base", base), ("overlay", variant)):
        if checkpoint is None:
            continue
        paths = {stored.path for stored in checkpoint.tensors.values()}
        extra = [checkpoint.directory / name for name in (CONFIG, INDEX)]
        if kind == "overlay":
            extra.append(checkpoint.directory / DRAFT_IDS)
        found |= {(kind, p.name): p for p in [*paths, *(p for p in extra if p.exists())]}
    if options.draft_vocab:
        # Its own name does not matter, only its content.
        found["draft_vocab", "ids" + options.draft_vocab.suffix] = options.draft_vocab
    return dict(sorted(found.items()))
