"""Every rule a prepared checkpoint must satisfy, checked from headers alone or with all hashes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qwen3090_prepare.checkpoint import CONFIG, INDEX, MANIFEST, Checkpoint, load, read_json
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.files import sha256
from qwen3090_prepare.findings import Finding
from qwen3090_prepare.manifest import outputs_of
from qwen3090_prepare.names import (
    DRAFT_HEAD,
    DRAFT_IDS,
    find_embedding,
    find_head,
    mtp_linears,
)
from qwen3090_prepare.progress import Meter, Progress
from qwen3090_prepare.rules import bits_of, read_shape, shared_rules
from qwen3090_prepare.scheme import resolve_bits
from qwen3090_prepare.vocab import read_ids

_AGAIN = "run prepare again with --force"


def check(
    directory: Path,
    *,
    hashes: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> list[Finding]:
    """Check a prepared checkpoint.

    Args:
        directory: the checkpoint.
        hashes: also compare every file with the SHA-256 in ``prepared.json`` (reads everything).
        progress: called while hashing.

    Returns:
        What is wrong, errors first; empty when all is well. Never raises for bad content.
    """
    findings: list[Finding] = []
    try:
        findings += _manifest(directory, hashes, Meter(progress))
        findings += content_rules(load(directory))
    except PrepareError as error:
        findings.append(Finding("error", "files", error.problem, error.next_step or _AGAIN))
    except OSError as error:
        problem = f"{error.filename or directory}: {error.strerror or error}"
        findings.append(Finding("error", "files", problem, "make the directory readable"))
    return sorted(findings, key=lambda finding: finding.severity != "error")


def content_rules(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Yield what is wrong with the tensors, config, index, tokenizer and draft vocabulary."""
    directory, config = checkpoint.directory, checkpoint.config
    if config is None:
        yield Finding("error", "config", f"{directory / CONFIG}: missing", _AGAIN)
        return
    shared = list(shared_rules(checkpoint, config))
    yield from shared
    if any(finding.rule in ("missing", "duplicate", "layout", "shape") for finding in shared):
        return  # the rules below rely on whole modules of the right form
    yield from _index(checkpoint)
    yield from _agreement(checkpoint, config)
    yield from _draft_head(checkpoint)


def _index(checkpoint: Checkpoint) -> Iterator[Finding]:
    path, listed = checkpoint.directory / INDEX, checkpoint.weight_map
    if listed is None:
        yield Finding("error", "index", f"{path}: missing", _AGAIN)
        return
    for name in sorted(set(checkpoint.tensors) - set(listed)):
        problem = f"{path}: does not list '{name}', so the engine may not load it"
        yield Finding("error", "index", problem, _AGAIN)


def _agreement(checkpoint: Checkpoint, config: dict[str, Any]) -> Iterator[Finding]:
    """Plain tensors must not be promised as packed (the shared rules check the reverse)."""
    tensors = checkpoint.tensors
    mtp = mtp_linears(tensors)
    for module in (find_head(tensors), find_embedding(tensors), *mtp):
        if f"{module}.weight" not in tensors:
            continue
        told = resolve_bits(config, module, linear=module in mtp)
        if told is not None:
            problem = f"{checkpoint.directory / CONFIG}: says {told} bits for '{module}', but it "
            yield Finding("error", "bits", problem + "is not packed", _AGAIN)
        else:
            problem = f"'{module}' is not quantized: it takes more memory and time than it need"
            yield Finding("warning", "plain", problem, "run prepare with all steps")


def _draft_head(checkpoint: Checkpoint) -> Iterator[Finding]:
    tensors, path = checkpoint.tensors, checkpoint.directory / DRAFT_IDS
    draft = tensors.get(f"{DRAFT_HEAD}.weight_packed")
    if draft is None:
        if path.exists():
            problem = f"{path}: there, but the checkpoint has no draft head"
            yield Finding("error", "draft-vocab", problem, "remove it, or add the draft-vocab step")
        return
    head = find_head(tensors)
    packed, shape = tensors.get(f"{head}.weight_packed"), tensors.get(f"{head}.weight_shape")
    rows, width = read_shape(tensors[f"{DRAFT_HEAD}.weight_shape"])
    if packed is None or shape is None:
        problem = "there is a packed draft head, but the head is not packed"
        yield Finding("error", "draft-vocab", problem, _AGAIN)
        return
    vocabulary, head_width = read_shape(shape)
    found, wanted = bits_of(draft, width), bits_of(packed, head_width)
    if (found, width) != (wanted, head_width):
        problem = (
            f"{draft.path}: the draft head has {found} bits and {width} columns, the head "
            f"{wanted} bits and {head_width} columns"
        )
        yield Finding("error", "draft-vocab", problem, "slice the draft head out of this head")
    try:
        ids = read_ids(path, vocabulary)
    except PrepareError as error:
        yield Finding("error", "draft-vocab", error.problem, error.next_step or _AGAIN)
        return
    if ids.size != rows:
        problem = f"{path}: {ids.size} ids, but the draft head has {rows} rows"
        yield Finding("error", "draft-vocab", problem, _AGAIN)


def _manifest(directory: Path, hashes: bool, meter: Meter) -> Iterator[Finding]:
    path = directory / MANIFEST
    manifest = read_json(path)
    if manifest is None:
        if directory.is_dir():
            problem = f"{path}: missing: not made by prepare, or not finished"
            yield Finding("warning", "manifest", problem, "run prepare into this directory's name")
        return
    outputs = outputs_of(manifest)
    if outputs is None:
        yield Finding("error", "manifest", f"{path}: has no usable 'outputs'", _AGAIN)
        return
    meter.expect(sum(entry["size"] for entry in outputs.values()) if hashes else 0)
    for name, entry in sorted(outputs.items()):
        file = directory / name
        if not file.is_file():
            yield Finding("error", "manifest", f"{file}: missing", _AGAIN)
        elif file.stat().st_size != entry["size"]:
            problem = f"{file}: {file.stat().st_size} bytes, {MANIFEST} says {entry['size']}"
            yield Finding("error", "manifest", problem, _AGAIN)
        elif hashes:
            found = sha256(file, lambda n, name=name: meter.add("check", name, n))  # type: ignore[misc]
            if found != entry["sha256"]:
                problem = f"{file}: sha256 {found}, {MANIFEST} says {entry['sha256']}"
                yield Finding("error", "manifest", problem, _AGAIN)
