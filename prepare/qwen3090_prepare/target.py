"""What stands where a run will put its result: nothing, the same result, or something to keep."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qwen3090_prepare.checkpoint import MANIFEST, read_json
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.files import sha256
from qwen3090_prepare.manifest import outputs_of
from qwen3090_prepare.progress import Meter


def resolve_target(out: Path, inputs: Mapping[str, Path | None]) -> Path:
    """Return the absolute path of ``out``.

    Args:
        out: as given.
        inputs: input directories by what they are called ("base", "overlay").

    Raises:
        PrepareError: ``out`` is an input, lies inside one (inputs are never changed) or holds one
            (it would go with the directory that ``force`` replaces), or is a root directory.
    """
    target = out.resolve()
    if not target.name:
        raise PrepareError(f"{out}: is a root directory", "choose another --out")
    for kind, path in inputs.items():
        source = path.resolve() if path is not None else None
        if source is None:
            continue
        if target == source:
            raise PrepareError(f"{out}: would overwrite its own input", "choose another --out")
        if target.is_relative_to(source):
            raise PrepareError(
                f"{out}: lies inside the {kind} {path}, which is not to be changed",
                f"choose an --out beside it, such as {source.with_name(source.name + '-prepared')}",
            )
        if source.is_relative_to(target):
            raise PrepareError(f"{out}: holds the {kind} {path}", "choose another --out")
    return target


def existing(
    target: Path,
    asked: Mapping[str, Any],
    inputs: Mapping[Path, str],
    meter: Meter,
    *,
    force: bool,
) -> dict[str, Any] | None:
    """Return the outputs of an equal, intact finished run, or None to go ahead.

    Args:
        target: where the result goes.
        asked: the request, as in ``prepared.json``.
        inputs: SHA-256 of every input.
        meter: told of the bytes hashed.
        force: go ahead over another or a damaged result.

    Raises:
        PrepareError: something else is there, or (without ``force``) another or a damaged result.
    """
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return None
    found = read_json(target / MANIFEST) if target.is_dir() else None
    if found is None:
        raise PrepareError(
            f"{target}: exists and is not a prepared checkpoint (no {MANIFEST})",
            "choose another --out, or remove it yourself",
        )
    outputs = outputs_of(found)
    found.pop("outputs", None)
    if found == asked:
        damaged = [MANIFEST] if outputs is None else []
        for name, entry in sorted((outputs or {}).items()):
            if not _intact(target / name, entry, inputs, meter):
                damaged.append(name)
        if not damaged:
            return outputs
        if not force:
            raise PrepareError(
                f"{target / damaged[0]}: missing, or not what {MANIFEST} says",
                "run the same command with --force to make it again",
            )
    elif not force:
        what = next((k for k in asked if found.get(k) != asked[k]), "request")
        raise PrepareError(
            f"{target}: was prepared with other {what} (see {MANIFEST})",
            "choose another --out, or add --force to replace it",
        )
    return None


def keep_foreign(old: Path, target: Path) -> Path | None:
    """Move a replaced result beside its successor if it holds files that no run made.

    Args:
        old: the directory that was exchanged out of ``target``'s name; may not exist.
        target: the new result.

    Returns:
        Where it is now, or None: it may be removed.
    """
    manifest = read_json(old / MANIFEST) if old.is_dir() else None
    if manifest is None:
        return None
    ours = {MANIFEST, *(outputs_of(manifest) or {})}
    if all(path.name in ours for path in old.iterdir()):
        return None
    number = 1
    while (kept := target.with_name(f"{target.name}.replaced-{number}")).exists():
        number += 1
    old.rename(kept)
    return kept


def _intact(path: Path, entry: Mapping[str, Any], inputs: Mapping[Path, str], meter: Meter) -> bool:
    """Whether an output is as recorded; a link to an input is known from hashing that."""
    if not path.is_file() or path.stat().st_size != entry["size"]:
        return False
    for source, digest in inputs.items():
        if source.name == path.name and source.samefile(path):
            return bool(digest == entry["sha256"])
    meter.expect(entry["size"])
    found = sha256(path, lambda count: meter.add("verify", path.name, count))
    return bool(found == entry["sha256"])
