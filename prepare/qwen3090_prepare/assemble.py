"""Fills a staging directory from a plan: links, small files, and the shards that change."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from qwen3090_prepare.draft import Job, Placed, Quantize, Slice
from qwen3090_prepare.files import place, sha256, sync_file, write_whole
from qwen3090_prepare.header import Stored
from qwen3090_prepare.planning import Prepared
from qwen3090_prepare.progress import Meter
from qwen3090_prepare.staging import Done, Staging
from qwen3090_prepare.writer import plan_layout, write_file


class Assembly:
    """One filling of a staging directory; finished files of an earlier one are verified and kept.

    Attributes:
        written: bytes of shards written.
        errors: step -> module -> relative error of what was quantized.
    """

    def __init__(
        self,
        plan: Prepared,
        staging: Staging,
        hashes: dict[Path, str],
        threads: int,
        meter: Meter,
    ) -> None:
        self._plan, self._staging, self._hashes = plan, staging, hashes
        self._threads, self._meter = threads, meter
        draft = plan.draft
        self._shards = draft.by_file()
        self._links = dict(plan.companions)
        self._changed: list[str] = []
        for name in self._shards:
            source = draft.unchanged(name)
            if source is None:
                self._changed.append(name)
            else:
                self._links[name] = source
        self.written = 0
        self.errors: dict[str, dict[str, float]] = {}

    def bytes_needed(self) -> int:
        """Bytes that this filling will add to the target's file system."""
        device = self._staging.root.parent.stat().st_dev
        sizes = {name: plan_layout(self._shards[name]).size for name in self._changed}
        sizes |= {
            name: path.stat().st_size
            for name, path in self._links.items()
            if path.stat().st_dev != device
        }
        sizes |= {name: len(data) for name, data in self._plan.draft.files.items()}
        return sum(size for name, size in sizes.items() if name not in self._staging.done)

    def write(self) -> dict[str, dict[str, Any]]:
        """Write everything; return {file: {"size", "sha256"}} of all outputs."""
        self._expect()
        for name, path in sorted(self._links.items()):
            place(path, self._staging.files / name)
        for name, data in sorted(self._plan.draft.files.items()):
            write_whole(self._staging.files / name, data)
        self._write_shards()
        outputs = {
            name: {"sha256": self._hashes[path], "size": path.stat().st_size}
            for name, path in self._links.items()
        }
        for name in self._plan.draft.files:
            path = self._staging.files / name
            outputs[name] = {"sha256": sha256(path), "size": path.stat().st_size}
        for name in self._changed:
            done = self._staging.done[name]
            outputs[name] = {"sha256": done.sha256, "size": done.size}
            self._collect(name, done.errors)
        return dict(sorted(outputs.items()))

    def _expect(self) -> None:
        """Announce the bytes to read (sources of changed files) and to hash (their results)."""
        for name in self._changed:
            size = plan_layout(self._shards[name]).size
            if name not in self._staging.done:
                size += sum(p.spec.nbytes for p in self._shards[name] if p.source is not None)
                jobs = self._plan.draft.jobs.get(name, ())
                size += sum(j.source.spec.nbytes for j in jobs if isinstance(j, Quantize))
            self._meter.expect(size)

    def _write_shards(self) -> None:
        """Write shards that others are sliced from first; sync and hash each beside the next."""

        def waits(name: str) -> bool:
            jobs = self._plan.draft.jobs.get(name, ())
            return any(isinstance(j, Slice) and isinstance(j.origin, str) for j in jobs)

        pending: dict[str, Future[None]] = {}

        def locate(tensor: str) -> Stored:
            placed = self._plan.draft.tensors[tensor]
            if placed.file in pending:
                pending[placed.file].result()
            offset = plan_layout(self._shards[placed.file]).offsets[tensor]
            return Stored(placed.spec, self._staging.files / placed.file, offset)

        with ThreadPoolExecutor(1, thread_name_prefix="finish") as finisher:
            for name in sorted(self._changed, key=lambda n: (waits(n), n)):
                if self._verified(name):
                    continue
                part = self._staging.files / f"{name}.part"
                jobs = self._plan.draft.jobs.get(name, ())
                errors = self._write_one(part, name, self._shards[name], jobs, locate)
                pending[name] = finisher.submit(self._finish, part, name, errors)
            for future in pending.values():
                future.result()

    def _write_one(
        self, part: Path, name: str, placed: Sequence[Placed], jobs: Sequence[Job], locate: Any
    ) -> dict[str, float]:
        try:
            return write_file(
                part,
                placed,
                jobs,
                threads=self._threads,
                locate=locate,
                seen=lambda step, count: self._meter.add(step, name, count),
            )
        except Exception:
            part.unlink(missing_ok=True)
            raise

    def _finish(self, part: Path, name: str, errors: dict[str, float]) -> None:
        sync_file(part)
        digest = self._hash(part, name)
        final = part.with_name(name)
        part.replace(final)
        size = final.stat().st_size
        self.written += size
        self._staging.record(name, Done(size, digest, errors))

    def _verified(self, name: str) -> bool:
        done, path = self._staging.done.get(name), self._staging.files / name
        if done is None:
            return False
        if path.is_file() and path.stat().st_size == done.size:
            if self._hash(path, name) == done.sha256:
                return True
            self._meter.expect(done.size)
        self._staging.forget(name)
        return False

    def _hash(self, path: Path, name: str) -> str:
        return sha256(path, lambda count: self._meter.add("verify", name, count))

    def _collect(self, name: str, errors: dict[str, float]) -> None:
        for job in self._plan.draft.jobs.get(name, ()):
            if isinstance(job, Quantize) and job.module in errors:
                self.errors.setdefault(job.step, {})[job.module] = errors[job.module]
