"""Fetch repositories of the manifest: reuse, check the disk, download, verify, rename as one."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock

from qwen3090.errors import UserError
from qwen3090.models.dirlock import directory_lock
from qwen3090.models.finish import finish
from qwen3090.models.hub import Hub
from qwen3090.models.manifest import Manifest, ModelFile, ModelRepository
from qwen3090.models.parallel import run_parallel
from qwen3090.models.progress import Progress, duration, human
from qwen3090.models.reuse import Reuse, place
from qwen3090.models.room import check_room
from qwen3090.models.staging import accepted, take_stock
from qwen3090.models.store import PART, Store, note_verified, whole
from qwen3090.models.transfer import Job, download

_SMALL = 64 << 20


@dataclass(frozen=True)
class FetchOptions:
    """How to fetch.

    Args:
        hub: address, token and retries.
        sources: directories that may hold files already.
        cache: the hub's cache, or None.
        jobs: files at a time.
        deep: hash also what was verified before.
        wait: wait for another fetch of the same directory, rather than fail.
        prepared_bytes: room that preparing will need, in bytes.
        need_prepared_room: refuse (rather than warn) when that room is missing.
        quiet: no progress lines.
    """

    hub: Hub
    sources: Sequence[Path] = ()
    cache: Path | None = None
    jobs: int = 4
    deep: bool = False
    wait: bool = True
    prepared_bytes: int = 0
    need_prepared_room: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class _Wanted:
    """A file that is not in its staging directory yet."""

    name: str
    repository: ModelRepository
    entry: ModelFile
    directory: Path

    @property
    def target(self) -> Path:
        return self.directory / self.entry.path

    @property
    def arrived(self) -> int:
        part = self.target.with_name(self.target.name + PART)
        return min(part.stat().st_size, self.entry.size) if part.exists() else 0


def fetch(
    manifest: Manifest,
    variant: str,
    store: Store,
    options: FetchOptions,
    say: Callable[[str], None],
) -> list[Path]:
    """Bring every repository of a variant into the store, whole and verified.

    Returns:
        The directories, in the manifest's order. Each appears under its name only when whole.

    Raises:
        UserError: a file cannot be had; everything that arrived is kept for the next run.
    """
    repositories = manifest.select(variant)
    if not options.deep and all(whole(store.final(n), r) for n, r in repositories.items()):
        # Before the lock: a directory that is shared read-only serves as it is.
        for name, repository in repositories.items():
            say(f"{name}: whole already ({human(repository.size)} in {store.final(name)})")
        return [store.final(name) for name in repositories]
    try:
        store.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make {store.root}: {error.strerror}", "give another directory: --dir DIR"
        ) from None
    with ExitStack() as stack:
        for name in sorted(repositories):
            stack.enter_context(
                directory_lock(
                    store.lock(name),
                    wait=options.wait,
                    on_wait=lambda pid, name=name: say(  # type: ignore[misc]
                        f"{name}: process {pid} fetches it already; waiting for it"
                    ),
                )
            )
        open_ones = {}
        for name, repository in repositories.items():
            if not options.deep and whole(store.final(name), repository):
                say(f"{name}: whole already ({human(repository.size)} in {store.final(name)})")
            else:
                open_ones[name] = repository
        try:
            if open_ones:
                _fetch_locked(open_ones, store, options, say)
        except OSError as error:
            raise UserError(
                f"cannot use {error.filename or store.root}: {error.strerror}; nothing is lost",
                "check the disk and its permissions, then run the same command again",
            ) from None
    return [store.final(name) for name in repositories]


def _fetch_locked(
    repositories: dict[str, ModelRepository],
    store: Store,
    options: FetchOptions,
    say: Callable[[str], None],
) -> None:
    wanted: list[_Wanted] = []
    for name, repository in repositories.items():
        missing = take_stock(store, name, repository, deep=options.deep)
        wanted += [_Wanted(name, repository, entry, store.staging(name)) for entry in missing]
    journal = Lock()
    wanted = _reuse(wanted, store, options, journal, say)
    _announce(repositories, wanted, store, options, say)
    begin = time.monotonic()
    arrived = _download(wanted, options, journal)
    if arrived:
        seconds = time.monotonic() - begin
        say(f"downloaded {human(arrived)} in {duration(seconds)} ({human(arrived / seconds)}/s)")
    for name, repository in repositories.items():
        kept = finish(store, name, repository)
        if kept:
            say(f"{name}: what stood there before was not all ours; it is kept in {kept}")
        say(f"{name}: whole, every size and sha256 checked: {store.final(name)}")


def _reuse(
    wanted: list[_Wanted],
    store: Store,
    options: FetchOptions,
    journal: Lock,
    say: Callable[[str], None],
) -> list[_Wanted]:
    """Take what this machine has; return what is still missing."""
    reuse = Reuse(store, options.sources, options.cache)
    stop = Event()
    found: set[Path] = set()

    def take(item: _Wanted) -> None:
        source = reuse.find(item.repository, item.entry, stop)
        if source is None:
            return
        try:
            how = place(source, item.target)
        except OSError as error:
            say(f"{item.entry.path}: cannot take {source} ({error.strerror}); fetching it instead")
            return
        if how == "copy" and not accepted(item.target, item.entry):
            return
        with journal:
            note_verified(item.directory, item.entry.path, item.entry.sha256)
            found.add(item.target)
        item.target.with_name(item.target.name + PART).unlink(missing_ok=True)
        say(f"{item.entry.path}: taken from {source} ({how})")

    run_parallel(wanted, take, jobs=options.jobs, stop=stop)
    return [item for item in wanted if item.target not in found]


def _announce(
    repositories: dict[str, ModelRepository],
    wanted: list[_Wanted],
    store: Store,
    options: FetchOptions,
    say: Callable[[str], None],
) -> None:
    total = sum(repository.size for repository in repositories.values())
    left = sum(item.entry.size - item.arrived for item in wanted)
    free = check_room(store.root, left, options.prepared_bytes, options.need_prepared_room, say)
    adds = options.prepared_bytes
    later = f"; preparing adds {human(adds)} later" if adds else ""
    say(
        f"{', '.join(repositories)}: {human(total)} in all, {human(total - left)} here already, "
        f"{human(left)} to download in {len(wanted)} files{later}; "
        f"{human(free)} free in {store.root}"
    )
    if wanted and options.hub.offline:
        raise UserError(
            f"HF_HUB_OFFLINE is set and {len(wanted)} files are missing, first:"
            f" {wanted[0].entry.path}",
            "unset HF_HUB_OFFLINE, or name a directory that has them: --from DIR",
        )


def _download(wanted: list[_Wanted], options: FetchOptions, journal: Lock) -> int:
    """Download the files; return the bytes that were not here before."""
    before = sum(item.arrived for item in wanted)
    stop = Event()
    progress = Progress("fetch", sum(item.entry.size for item in wanted), quiet=options.quiet)

    def one(item: _Wanted) -> None:
        entry, origin = item.entry, item.repository
        job = Job(
            origin.repository, origin.revision, entry.path, entry.size, entry.sha256, item.target
        )
        download(job, options.hub, advance=progress.advance, say=progress.say, stop=stop)
        with journal:
            note_verified(item.directory, entry.path, entry.sha256)

    # Small files first, so that a refusal shows at once; then the largest, so that none is last.
    small = sorted((w for w in wanted if w.entry.size <= _SMALL), key=lambda w: w.entry.size)
    large = sorted((w for w in wanted if w.entry.size > _SMALL), key=lambda w: -w.entry.size)
    try:
        run_parallel([*small, *large], one, jobs=options.jobs, stop=stop)
    finally:
        progress.close()
    return sum(item.entry.size for item in wanted) - before
