"""Does a checkpoint satisfy every rule that prepare guarantees and the engine relies on?"""

from pathlib import Path
from typing import Any

from qwen3090.config.rules import METHOD_WORDS
from qwen3090.verify.report import Finding, Status
from qwen3090.verify.tokenizer import check_tokenizer


def check_checkpoint(directory: Path, *, hashes: bool = False) -> list[Finding]:
    """Check a prepared checkpoint from its headers; no weight is loaded.

    Args:
        directory: what ``serve`` would load.
        hashes: also compare every file with the sha256 that prepare noted (reads everything).
    """
    if not directory.is_dir():
        return [
            Finding(
                "checkpoint",
                Status.FAIL,
                f"{directory} is not a directory",
                f"qwen3090 prepare BASE --out {directory}",
            )
        ]
    import qwen3090_prepare

    found = [_path(directory)]
    problems = qwen3090_prepare.check(directory, hashes=hashes)
    found += [
        Finding(
            f"checkpoint.{item.rule}",
            Status.FAIL if item.severity == "error" else Status.WARN,
            item.problem,
            item.next_step,
        )
        for item in problems
    ]
    if not any(item.severity == "error" for item in problems):
        found.append(_summary(directory, hashes))
    if not any(item.rule in ("files", "config") for item in problems):
        found.append(_targets(directory))
    return [*found, *check_tokenizer(directory)]


def _path(directory: Path) -> Finding:
    """VLLM takes the drafting method from words of the drafter's path, which with MTP is this."""
    word = next((w for w in METHOD_WORDS if w in str(directory.absolute()).lower()), None)
    if word is None:
        return Finding("checkpoint.path", Status.PASS, "names no drafting method")
    text = f"{directory}: vLLM would take '{word}' in the path for the drafting method of MTP"
    cure = f"mv {directory} NAME, or ln -s {directory.absolute()} NAME"
    return Finding("checkpoint.path", Status.FAIL, text, cure)


def _summary(directory: Path, hashes: bool) -> Finding:
    """Say what was found, with the bits of each part, now that every rule holds."""
    from qwen3090_prepare.checkpoint import load
    from qwen3090_prepare.names import DRAFT_HEAD, find_embedding, find_head

    held = load(directory)
    config = held.config or {}
    head, embedding = find_head(held.tensors), find_embedding(held.tensors)
    texts = [f"{len(held.tensors)} tensors in {len({t.path for t in held.tensors.values()})} files"]
    parts = {"head": head, "embedding": embedding, "MTP": "mtp.fc", "draft head": DRAFT_HEAD}
    for name, module in parts.items():
        bits = packed_bits(held.tensors, config, module)
        if bits is not None:
            texts.append(f"{name} {bits} bits")
        elif f"{module}.weight" in held.tensors:
            texts.append(f"{name} not quantized")
    how = "every digest and rule" if hashes else "every rule"
    return Finding("checkpoint.rules", Status.PASS, f"{how} holds: {', '.join(texts)}")


def packed_bits(tensors: dict[str, Any], config: dict[str, Any], module: str) -> int | None:
    """Return the bits that config.json gives a packed module; None when it is not packed."""
    from qwen3090_prepare.scheme import resolve_bits

    if f"{module}.weight_packed" not in tensors:
        return None
    linear = module.rpartition(".")[2] not in ("lm_head", "embed_tokens", "draft_lm_head")
    return resolve_bits(config, module, linear=linear)


def _targets(directory: Path) -> Finding:
    """A group that names no module is a slip in config.json: what it meant stays as it was."""
    from qwen3090_prepare.checkpoint import load
    from qwen3090_prepare.names import modules
    from qwen3090_prepare.scheme import matches, quantization

    held = load(directory)
    names = list(modules(held.tensors))
    groups = quantization(held.config or {}).get("config_groups") or {}
    idle = [
        f"{name} ({target})"
        for name, group in groups.items()
        for target in group["targets"]
        if target != "Linear" and not any(matches(target, module) for module in names)
    ]
    if idle:
        text = f"{directory / 'config.json'}: names no module of the checkpoint: {', '.join(idle)}"
        return Finding("checkpoint.targets", Status.FAIL, text, "run prepare again with --force")
    return Finding("checkpoint.targets", Status.PASS, f"each of {len(groups)} groups has modules")
