"""The staging directory of one repository: what of it can be trusted, what is still missing."""

from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.models.hashing import file_sha256, many_sha256
from qwen3090.models.manifest import ModelFile, ModelRepository
from qwen3090.models.reuse import place
from qwen3090.models.store import Store, note_verified, read_records


def accepted(path: Path, entry: ModelFile) -> bool:
    """Tell whether a file in staging is the wanted one; remove it when not."""
    if path.stat().st_size == entry.size and file_sha256(path) == entry.sha256:
        return True
    path.unlink()
    return False


def take_stock(
    store: Store, name: str, repository: ModelRepository, *, deep: bool
) -> list[ModelFile]:
    """Open the staging directory, move in what is good, and return the files still missing.

    A file on record is trusted when its size and time are those it was verified with; any other
    file under a final name is hashed, and removed from staging when it is not the wanted one.
    Good files of the directory that stands under the final name are linked in.

    Args:
        store: models directory.
        name: repository name.
        repository: its manifest entry.
        deep: hash every file, trusting no record.

    Raises:
        UserError: the directory cannot be made or written.
    """
    staging = store.staging(name)
    try:
        staging.mkdir(exist_ok=True)
        _link_from_final(store, name, repository, deep)
        return _missing(staging, repository, deep)
    except OSError as error:
        raise UserError(
            f"cannot use {staging}: {error.strerror} ({error.filename})",
            "check the disk and its permissions, or give another directory: --dir DIR",
        ) from None


def _link_from_final(store: Store, name: str, repository: ModelRepository, deep: bool) -> None:
    final, staging = store.final(name), store.staging(name)
    if not final.is_dir():
        return
    records = read_records(final)
    unproved = []
    for entry in repository.files:
        path, target = final / entry.path, staging / entry.path
        if target.exists() or not path.is_file() or path.stat().st_size != entry.size:
            continue
        record = records.get(entry.path)
        if record and record.sha256 == entry.sha256 and record.still_fits(path) and not deep:
            place(path, target)
            note_verified(staging, entry.path, entry.sha256)
        else:
            unproved.append(entry)
    wanted = {final / entry.path: entry for entry in unproved}
    for path, digest in many_sha256(wanted):
        entry = wanted[path]
        if digest == entry.sha256:
            place(path, staging / entry.path)
            note_verified(staging, entry.path, entry.sha256)


def _missing(staging: Path, repository: ModelRepository, deep: bool) -> list[ModelFile]:
    records = read_records(staging)
    missing, doubtful = [], {}
    for entry in repository.files:
        path = staging / entry.path
        if not path.is_file():
            missing.append(entry)
            continue
        record = records.get(entry.path)
        trusted = record and record.sha256 == entry.sha256 and record.still_fits(path)
        if deep or not trusted:
            doubtful[path] = entry
    for path, digest in many_sha256(doubtful):
        entry = doubtful[path]
        if digest == entry.sha256:
            note_verified(staging, entry.path, entry.sha256)
        else:
            path.unlink()
            missing.append(entry)
    return missing
