"""What a profile needs on disk and what is missing of it: the steps of ``qwen3090 up``."""

import json
from dataclasses import dataclass
from pathlib import Path

from qwen3090 import state
from qwen3090.config import Resolved
from qwen3090.errors import UserError
from qwen3090.models.manifest import Manifest
from qwen3090.models.store import Store, whole


@dataclass(frozen=True)
class Need:
    """The steps that are left before a profile can be served.

    Attributes:
        variant: the checkpoint's variant, or None when the user named a model of their own.
        fetch: variants of the manifest to fetch, in order.
        prepare: whether the prepared checkpoint has to be made.
        download_bytes: what the fetches download at most.
        prepared_bytes: what preparing writes.
        prepared: where the prepared checkpoint stands or will stand.
    """

    variant: str | None
    fetch: tuple[str, ...]
    prepare: bool
    download_bytes: int
    prepared_bytes: int
    prepared: Path | None


def find_need(resolved: Resolved, manifest: Manifest, store: Store) -> Need:
    """Compare a profile's settings with what is on disk; reads no large file.

    Raises:
        UserError: the profile serves no checkpoint of the manifest and none is named.
    """
    config = resolved.config
    if config.model is None:
        raise UserError(
            f"profile {resolved.profile} names no checkpoint that could be fetched",
            "qwen3090 demo, or name one: --set model=DIR",
        )
    fetches: list[str] = []
    variant: str | None = None
    prepare = False
    if _is_default(resolved, "model"):
        variant = str(config.variant)
        if not is_prepared(config.model, manifest, variant):
            prepare = True
            fetches.append(variant)
    if config.drafter is not None and _is_default(resolved, "drafter"):
        fetches.append(config.drafter.name)
    missing = {}
    for name in fetches:
        for key, repository in manifest.select(name).items():
            if not whole(store.final(key), repository):
                missing[key] = repository.size
    fetches = [name for name in fetches if missing.keys() & manifest.select(name).keys()]
    return Need(
        variant=variant,
        fetch=tuple(fetches),
        prepare=prepare,
        download_bytes=sum(missing.values()),
        prepared_bytes=manifest.prepared_bytes(variant) if variant and prepare else 0,
        prepared=config.model if variant else None,
    )


def is_prepared(directory: Path, manifest: Manifest, variant: str) -> bool:
    """Tell whether a prepared checkpoint is complete and made from the manifest's files.

    Its ``prepared.json`` names every input with its sha256; each that the manifest also names must
    be the same, and every output must have the size on record.
    """
    try:
        data = json.loads((directory / "prepared.json").read_text(encoding="utf-8"))
        for kind, name in (("base", "base"), ("overlay", variant)):
            made_from = data["inputs"].get(kind, {})
            for entry in manifest.repositories[name].files:
                if made_from.get(entry.path, {}).get("sha256", entry.sha256) != entry.sha256:
                    return False
        outputs = {directory / name: int(entry["size"]) for name, entry in data["outputs"].items()}
        return bool(outputs) and all(path.stat().st_size == outputs[path] for path in outputs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_default(resolved: Resolved, key: str) -> bool:
    """Tell whether a path is the one that the state directory gives."""
    path = getattr(resolved.config, key)
    default = state.state_dir()
    return resolved.origins.get(key, "").startswith("from ") and path.is_relative_to(default)
