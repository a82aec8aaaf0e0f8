"""The steps lm-head, embed, mtp and draft-vocab: pure functions from a draft to a typed plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from qwen3090_prepare.draft import Addition, Draft, Job, Placed, Quantize, Slice, StepPlan, Write
from qwen3090_prepare.errors import FETCH_AGAIN, PrepareError
from qwen3090_prepare.header import Spec, Stored
from qwen3090_prepare.names import (
    DRAFT_HEAD,
    DRAFT_IDS,
    find_embedding,
    find_head,
    mtp_linears,
    required_mtp,
)
from qwen3090_prepare.quantize import GROUP
from qwen3090_prepare.vocab import Ids, ids_file, read_ids


def lm_head(draft: Draft, bits: int) -> StepPlan:
    """Pack the output head, scales in fp16."""
    return _pack(draft, "lm-head", [find_head(draft.tensors)], bits, "F16")


def embed(draft: Draft, bits: int) -> StepPlan:
    """Pack the input embedding, scales in bf16 (the engine allocates them so)."""
    return _pack(draft, "embed", [find_embedding(draft.tensors)], bits, "BF16")


def mtp(draft: Draft, bits: int, config: Mapping[str, Any]) -> StepPlan:
    """Pack the eight linears of the MTP module, scales in fp16; its norms stay bf16."""
    names = sorted({*mtp_linears(draft.tensors), *required_mtp(config)})
    if not names:
        return StepPlan("mtp", "skipped", "the base has no MTP module")
    return _pack(draft, "mtp", names, bits, "F16")


def _pack(draft: Draft, step: str, names: list[str], bits: int, scale_dtype: str) -> StepPlan:
    adds: list[Addition] = []
    for module in names:
        packed = draft.tensors.get(f"{module}.weight_packed")
        if packed is not None:
            _check_kept(draft, step, module, bits)
            continue
        placed = draft.tensors[f"{module}.weight"]
        source = placed.source
        shape = placed.spec.shape
        if source is None or len(shape) != 2 or not all(shape) or shape[1] % GROUP:
            raise PrepareError(
                f"'{placed.spec.name}' has shape {list(shape)}; its second dimension "
                f"must be a multiple of {GROUP}, and no dimension 0",
                FETCH_AGAIN,
            )
        job = Quantize(step, module, source, bits, scale_dtype)
        adds.append(Addition(placed.file, packed_specs(module, placed.spec.shape, job), job))
    if not adds:
        return StepPlan(step, "kept", f"the base has it in {bits} bits already", bits)
    removes = tuple(f"{a.job.module}.weight" for a in adds if isinstance(a.job, Quantize))
    what = names[0] if len(names) == 1 else f"{len(adds)} linears"
    note = f"{what} to int{bits}, group {GROUP}, {scale_dtype.lower()} scales"
    return StepPlan(step, "run", note, bits, removes, tuple(adds))


def packed_specs(module: str, shape: tuple[int, ...], job: Quantize) -> tuple[Spec, ...]:
    """Return the three tensors of a packed [out, in] matrix."""
    rows, width = shape
    return (
        Spec(f"{module}.weight_packed", "I32", (rows, width * job.bits // 32)),
        Spec(f"{module}.weight_scale", job.scale_dtype, (rows, width // GROUP)),
        Spec(f"{module}.weight_shape", "I64", (2,)),
    )


def width_and_bits(draft: Draft, module: str) -> tuple[int, int]:
    """Return input columns and bits per weight of a packed module of the draft."""
    width = draft.tensors[f"{module}.weight_scale"].spec.shape[1] * GROUP
    return width, 32 * draft.tensors[f"{module}.weight_packed"].spec.shape[1] // width


def _check_kept(draft: Draft, step: str, module: str, bits: int) -> None:
    _, found = width_and_bits(draft, module)
    if found != bits:
        option = {"lm-head": "--head-bits", "embed": "--embed-bits", "mtp": "--mtp-bits"}[step]
        raise PrepareError(
            f"'{module}' of the base has {found} bits already, {bits} were asked for",
            f"use {option} {found}, or start from the base with bf16 weights",
        )


def draft_vocab(draft: Draft, path: Path | None) -> StepPlan:
    """Slice the rows of a token list out of the packed head, for the MTP drafter.

    Bit-exact: packed words and scales are copied, so the draft head has the head's bits.
    """
    there = draft.tensors.get(f"{DRAFT_HEAD}.weight_packed")
    if path is None and there is None:
        note = "no draft vocabulary given (--draft-vocab FILE): MTP drafts over the whole head"
        return StepPlan("draft-vocab", "skipped", note)
    if path is None:
        return StepPlan("draft-vocab", "kept", "the base has a draft head already")
    if there is not None:
        raise PrepareError(
            "the base has a draft head already", "drop --draft-vocab, or start from the plain base"
        )
    head = find_head(draft.tensors)
    packed = draft.tensors.get(f"{head}.weight_packed")
    if packed is None:
        raise PrepareError(
            "the draft head is sliced out of the packed head, but the head is not packed",
            "add --step lm-head",
        )
    file = next((t.file for n, t in sorted(draft.tensors.items()) if n.startswith("mtp.fc.")), None)
    if file is None:
        raise PrepareError("a draft vocabulary needs the MTP module, which the base does not have")
    ids = read_ids(path, packed.spec.shape[0])
    width, bits = width_and_bits(draft, head)
    adds = [
        _rows(file, ids, draft.tensors[f"{head}.{part}"], f"{DRAFT_HEAD}.{part}")
        for part in ("weight_packed", "weight_scale")
    ]
    shape = np.array([ids.size, width], dtype="<i8").tobytes()
    name = f"{DRAFT_HEAD}.weight_shape"
    adds.append(Addition(file, (Spec(name, "I64", (2,)),), Write("draft-vocab", name, shape)))
    note = f"{ids.size} of the head's {packed.spec.shape[0]} rows, {bits} bits"
    files = {DRAFT_IDS: ids_file(path, ids)}
    return StepPlan("draft-vocab", "run", note, bits, adds=tuple(adds), files=files)


def _rows(file: str, ids: Ids, placed: Placed, target: str) -> Addition:
    spec = Spec(target, placed.spec.dtype, (ids.size, *placed.spec.shape[1:]))
    origin: Stored | str = placed.source if placed.source is not None else placed.spec.name
    job: Job = Slice("draft-vocab", target, origin, ids)
    return Addition(file, (spec,), job)
