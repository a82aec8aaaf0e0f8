"""Manifest entries for another checkpoint of the architecture, from the hub's own metadata.

The hub publishes the sha256 of large files. Small ones it names by git blob id alone; they are
fetched, checked against that id, and hashed here.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from qwen3090.errors import UserError
from qwen3090.models.hub import Hub, Transient
from qwen3090.models.manifest import Manifest, read_manifest

WEIGHTS = (".safetensors",)
# Other names for the same weights, and what is not for a machine to load.
LEFT_OUT = (
    (re.compile(r"(README|LICENSE)[^/]*|\.gitattributes"), "no code reads it"),
    (re.compile(r".*\.(md|png|jpe?g|gif|svg|pdf)"), "no code reads it"),
    (re.compile(r".*\.(bin|pth|gguf|onnx|h5|msgpack)"), "another format; safetensors are taken"),
    (re.compile(r".*/.*"), "in a folder below the checkpoint"),
    (re.compile(r"\..*"), "hidden"),
)
_LARGEST_SMALL = 64 << 20


def lock_repository(
    repository: str,
    revision: str,
    *,
    name: str,
    prepared_bytes: int,
    hub: Hub,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Return a manifest (as JSON data) with one repository and one variant, both called ``name``.

    Args:
        repository: OWNER/NAME on the hub.
        revision: commit, branch or tag; the commit it stands for is written down.
        name: what the entry, its directory and its variant are called.
        prepared_bytes: what preparing adds on disk, for the disk check.
        hub: address, token and retries.
        say: prints what is hashed here.

    Raises:
        UserError: the hub refuses, or the repository holds no safetensors.
    """
    info = hub.model_info(repository, revision)
    commit = str(info.sha)
    files, left_out = [], []
    for sibling in sorted(info.siblings or [], key=lambda entry: str(entry.rfilename)):
        path = str(sibling.rfilename)
        reason = next((why for pattern, why in LEFT_OUT if pattern.fullmatch(path)), None)
        if reason:
            if not path.startswith(".") or path == ".gitattributes":
                left_out.append({"path": path, "reason": reason})
            continue
        if sibling.lfs is not None:
            files.append(
                {"path": path, "size": sibling.lfs.size, "sha256": str(sibling.lfs.sha256)}
            )
            continue
        say(f"{path}: the hub gives no sha256; fetching it to hash it")
        content = _small_file(hub, repository, commit, path, sibling)
        digest = hashlib.sha256(content).hexdigest()
        files.append({"path": path, "size": len(content), "sha256": digest})
    if not any(str(entry["path"]).endswith(WEIGHTS) for entry in files):
        raise UserError(
            f"{repository}@{commit[:12]} holds no safetensors", "name a checkpoint's repository"
        )
    purpose = f"locked from {repository} at {commit[:12]}"
    entry = {
        "repository": repository,
        "revision": commit,
        "purpose": purpose,
        "files": files,
        "generated": [],
        "left_out": left_out,
    }
    variant = {"repositories": [name], "prepared_bytes": prepared_bytes, "purpose": purpose}
    data = {"format": 1, "repositories": {name: entry}, "variants": {name: variant}}
    try:
        Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"the hub's metadata of {repository}@{revision} makes no manifest: {where}:"
            f" {first['msg']}",
            "check HF_ENDPOINT; write this entry by hand if it is right",
        ) from None
    return data


def entry_name(repository: str) -> str:
    """Return a usable name for an entry: the repository's own, in small letters."""
    name = re.sub(r"[^a-z0-9._-]+", "-", repository.rpartition("/")[2].lower()).strip("-._")
    return name[:64] or "checkpoint"


def add_to_file(path: Path, data: dict[str, Any]) -> None:
    """Add the entries to a manifest file, made when missing; entries of the same name change.

    Raises:
        UserError: the file exists and is no valid manifest, or cannot be written.
    """
    if path.exists():
        old = read_manifest(path).model_dump(mode="json")
        for kind in ("repositories", "variants"):
            data = {**data, kind: {**old[kind], **data[kind]}}
    draft = path.with_name(path.name + ".new")
    try:
        draft.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        draft.rename(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "give another --out") from None


def _small_file(hub: Hub, repository: str, commit: str, path: str, sibling: Any) -> bytes:
    if (sibling.size or 0) > _LARGEST_SMALL:
        raise UserError(
            f"{repository}: {path} has {sibling.size} bytes and no sha256 on the hub",
            "the hub's metadata is incomplete; write this entry by hand",
        )
    last: Transient | None = None
    for _ in range(hub.retries + 1):
        try:
            with hub.open(repository, commit, path) as reply:
                content = b"".join(reply.chunks())
        except Transient as error:
            last = error
            continue
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        if sibling.blob_id in (None, git.hexdigest()):
            return content
        last = Transient(f"content has git id {git.hexdigest()}, the hub says {sibling.blob_id}")
    raise UserError(f"{repository}: {path}: {last}", "run the same command again")
