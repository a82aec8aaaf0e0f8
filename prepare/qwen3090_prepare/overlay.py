"""The step overlay: a variant's head, MTP module and draft vocabulary put onto a base.

Decided by tensors, not by file names: a base file all of whose modules the overlay brings is
dropped; one that holds more is written again without them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qwen3090_prepare.checkpoint import CONFIG, INDEX, Checkpoint
from qwen3090_prepare.draft import Draft, Quantize, StepPlan
from qwen3090_prepare.errors import FETCH_AGAIN, PrepareError
from qwen3090_prepare.findings import refuse_errors
from qwen3090_prepare.names import (
    DRAFT_HEAD,
    DRAFT_IDS,
    find_head,
    modules,
    mtp_linears,
    required_mtp,
    text_config,
)
from qwen3090_prepare.rules import tensors as tensor_rules
from qwen3090_prepare.vocab import read_ids

_SAME = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "mtp_num_hidden_layers",
)


def overlay(draft: Draft, variant: Checkpoint, config: Mapping[str, Any]) -> StepPlan:
    """Put the overlay's files in place of the base's.

    Raises:
        PrepareError: the overlay is for another model, lacks a module it replaces, or brings a
            draft head without ids or with other bits than its head's.
    """
    held = modules(variant.tensors)
    _same_model(variant, config)
    _complete(variant, draft, config)
    _no_step_wasted(held, draft)
    removes = tuple(name for name in draft.tensors if name.rpartition(".")[0] in held)
    left = {n: t for n, t in draft.tensors.items() if n not in removes}
    names = {stored.path.name for stored in variant.tensors.values()}
    for name, placed in sorted(left.items()):
        if placed.file in names:
            raise PrepareError(
                f"{variant.directory / placed.file} would replace the base's file, which also "
                f"holds '{name}'",
                "use the overlay made for this base",
            )
    files = {}
    if f"{DRAFT_HEAD}.weight_packed" in variant.tensors:
        path = variant.companions.get(DRAFT_IDS, variant.directory / DRAFT_IDS)
        rows = variant.tensors[f"{DRAFT_HEAD}.weight_packed"].spec.shape[0]
        files[DRAFT_IDS] = _ids(path, rows, int(text_config(config)["vocab_size"]))
    note = f"{len(held)} modules from {', '.join(sorted(names))}"
    return StepPlan(
        "overlay",
        "run",
        note,
        removes=removes,
        adopts=tuple(stored for _, stored in sorted(variant.tensors.items())),
        files=files,
    )


def _no_step_wasted(held: Mapping[str, set[str]], draft: Draft) -> None:
    """A module that a step quantizes must not come with the overlay as well."""
    for jobs in draft.jobs.values():
        for job in jobs:
            if isinstance(job, Quantize) and job.module in held:
                raise PrepareError(
                    f"the overlay brings '{job.module}', which the step '{job.step}' quantizes",
                    f"leave the step out: --step overlay without --step {job.step}",
                )


def _same_model(variant: Checkpoint, config: Mapping[str, Any]) -> None:
    if variant.config is None:
        raise PrepareError(
            f"{variant.directory / CONFIG}: missing; it says how many bits the overlay has",
            "fetch the overlay's config.json",
        )
    ours, theirs = text_config(config), text_config(variant.config)
    for key in _SAME:
        if ours.get(key) != theirs.get(key):
            raise PrepareError(
                f"{variant.directory / CONFIG}: {key} is {theirs.get(key)}, the base has "
                f"{ours.get(key)}",
                "use the overlay made for this base",
            )


def _complete(variant: Checkpoint, draft: Draft, config: Mapping[str, Any]) -> None:
    head = find_head(draft.tensors)
    wanted = {head, *required_mtp(config), *mtp_linears(draft.tensors)}
    missing = sorted(wanted - set(modules(variant.tensors)))
    if missing:
        raise PrepareError(
            f"{variant.directory}: the overlay lacks '{missing[0]}'", "fetch all of its files"
        )
    assert variant.config is not None
    refuse_errors(tensor_rules(variant.tensors, variant.config))


def _ids(path: Path, rows: int, vocabulary: int) -> bytes:
    ids = read_ids(path, vocabulary)
    if ids.size != rows:
        raise PrepareError(f"{path}: {ids.size} ids, but the draft head has {rows} rows")
    return path.read_bytes()


def check_index(variant: Checkpoint, assembled: Mapping[str, str]) -> None:
    """Refuse an overlay whose index does not describe what the base and it make together."""
    for tensor, name in sorted((variant.weight_map or {}).items()):
        if assembled.get(tensor) != name:
            found = assembled.get(tensor) or "no file"
            raise PrepareError(
                f"{variant.directory / INDEX}: says '{tensor}' is in '{name}'; with this base it "
                f"is in {found}",
                FETCH_AGAIN + ", or prepare from the base this overlay was made for",
            )
