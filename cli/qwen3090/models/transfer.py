"""One file over HTTP, resumable: nothing counts before its size and sha256 are right.

Plain HTTP on purpose. The hub's chunk protocol (hf-xet) writes files out of order, so that an
interrupted file has no usable beginning, and it takes gigabytes of memory; it is never used here.
"""

import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from qwen3090.errors import UserError
from qwen3090.models.hashing import Stopped, hash_into
from qwen3090.models.hub import Hub, Reply, Transient

# Fewer new bytes than this and an attempt counts as failed, however it ended.
PROGRESS = 64 << 10
LONGEST_WAIT = 30.0
LONGEST_RETRY_AFTER = 900.0
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Job:
    """One file to download."""

    repository: str
    revision: str
    path: str
    size: int
    sha256: str
    target: Path  # ``target`` + ".part" holds what has arrived

    @property
    def label(self) -> str:
        """Name the file as users know it."""
        return f"{self.repository}@{self.revision[:12]}: {self.path}"


class _Part:
    """The beginning of a file on disk, and the digest of exactly those bytes."""

    def __init__(self, job: Job, advance: Callable[[int], None], stop: Event) -> None:
        self.job, self.advance = job, advance
        self.path = job.target.with_name(job.target.name + ".part")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.stream = self.path.open("ab", buffering=0)
        self.digest = hashlib.sha256()
        self.count = 0
        if self.path.stat().st_size > job.size:
            self.stream.truncate(0)
        self.count = hash_into(self.digest, self.path, advance=advance, stop=stop)

    def write(self, chunk: bytes) -> None:
        if self.count + len(chunk) > self.job.size:
            self.restart()
            raise Transient("the server sent more bytes than the file has")
        view = memoryview(chunk)
        while view:
            written = self.stream.write(view) or 0
            self.digest.update(view[:written])
            self.count += written
            self.advance(written)
            view = view[written:]

    def restart(self) -> None:
        self.stream.truncate(0)
        self.advance(-self.count)
        self.digest, self.count = hashlib.sha256(), 0

    def finish(self) -> None:
        os.fsync(self.stream.fileno())
        self.stream.close()
        self.path.rename(self.job.target)


def download(
    job: Job,
    hub: Hub,
    *,
    advance: Callable[[int], None],
    say: Callable[[str], None],
    stop: Event,
) -> None:
    """Download one file to ``job.target``, going on from what a former run left.

    Args:
        job: what to download and where to.
        hub: how to reach the hub: address, token, retries.
        advance: called with bytes gained, negative when bytes are thrown away.
        say: called with one line before each wait.
        stop: ends the download between two chunks; what has arrived is kept.

    Raises:
        UserError: the file cannot be had whole; the beginning that arrived is kept.
        Stopped: ``stop`` was set.
    """
    try:
        part = _Part(job, advance, stop)
        try:
            _until_whole(part, hub, say, stop)
        finally:
            part.stream.close()
    except OSError as error:
        raise _disk_error(job, error) from None


def _until_whole(part: _Part, hub: Hub, say: Callable[[str], None], stop: Event) -> None:
    job, failures, wrong = part.job, 0, 0
    while True:
        before = part.count
        try:
            if part.count < job.size:
                _attempt(part, hub, stop)
            if part.count < job.size:
                raise Transient(f"the answer ended after {part.count} of {job.size} bytes")
        except Transient as error:
            failures = 0 if part.count - before >= PROGRESS else failures + 1
            _wait_or_give_up(part, hub, error, failures, say, stop)
            continue
        if part.digest.hexdigest() == job.sha256:
            part.finish()
            return
        found = part.digest.hexdigest()
        part.restart()
        wrong += 1
        if wrong > 1:
            raise UserError(
                f"{job.label}: the content has sha256 {found}, the manifest says {job.sha256}"
                " (fetched twice, thrown away)",
                "something between here and the hub changes the file (proxy, mirror);"
                " try another network, or: qwen3090 models fetch --from DIR",
            )
        say(f"{job.path}: wrong content, fetching it once more from the start")


def _attempt(part: _Part, hub: Hub, stop: Event) -> None:
    job = part.job
    with hub.open(job.repository, job.revision, job.path, start=part.count) as reply:
        _check_reply(part, reply)
        for chunk in reply.chunks():
            if stop.is_set():
                raise Stopped
            part.write(chunk)


def _check_reply(part: _Part, reply: Reply) -> None:
    size = part.job.size
    if reply.start != part.count:
        asked = part.count
        part.restart()
        if reply.start != 0:
            raise Transient(f"the server does not go on from byte {asked}")
    if reply.total is not None and reply.total != size:
        raise UserError(
            f"{part.job.label}: the server offers {reply.total} bytes, the manifest says {size}",
            "a proxy or a login page may answer instead of the hub: open the hub in a browser,"
            " then run the same command again",
        )


def _wait_or_give_up(
    part: _Part,
    hub: Hub,
    error: Transient,
    failures: int,
    say: Callable[[str], None],
    stop: Event,
) -> None:
    job = part.job
    again = "run the same command again: it goes on from there"
    kept = f"{part.count} of {job.size} bytes are kept"
    if failures > hub.retries:
        raise UserError(f"{job.label}: {error} ({failures} attempts; {kept})", again)
    if error.retry_after is not None:
        if error.retry_after > LONGEST_RETRY_AFTER:
            raise UserError(
                f"{job.label}: {error}; the hub asks to wait {error.retry_after:.0f} s ({kept})",
                f"wait that long, then {again}",
            )
        delay = error.retry_after
    else:
        delay = min(LONGEST_WAIT, hub.first_wait * 2 ** max(failures - 1, 0))
    say(f"{job.path}: {error}; going on in {delay:.0f} s ({kept})")
    if stop.wait(delay):
        raise Stopped


def _disk_error(job: Job, error: OSError) -> Any:
    where = job.target.parent
    if error.errno in _FULL:
        return UserError(
            f"no room in {where} for {job.path} ({error.strerror}); what has arrived is kept",
            "free some space (qwen3090 models gc; df -h), then run the same command again",
        )
    return UserError(
        f"cannot write {job.path} in {where}: {error.strerror}",
        "check the disk and its permissions",
    )
