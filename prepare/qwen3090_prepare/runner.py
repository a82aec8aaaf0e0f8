"""run(): plan, hash, write what is missing into staging, verify, and publish by one rename."""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from qwen3090_prepare import manifest
from qwen3090_prepare.assemble import Assembly
from qwen3090_prepare.checker import content_rules
from qwen3090_prepare.checkpoint import MANIFEST, load
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.files import publish, sha256, sync_directory, write_whole
from qwen3090_prepare.findings import refuse_errors
from qwen3090_prepare.options import make_options
from qwen3090_prepare.planning import Prepared, plan_run
from qwen3090_prepare.progress import Meter, Progress
from qwen3090_prepare.staging import Staging, check_space, locked
from qwen3090_prepare.target import existing, keep_foreign, resolve_target


@dataclass(frozen=True)
class StepResult:
    """What a step did.

    Attributes:
        step: its name.
        action: "run", "kept" (the base had it) or "skipped".
        note: one line for the user.
        bits: weight bits of what it packed or kept, None when it packs nothing.
        relative_error: largest relative error (Frobenius) of what it packed, sampled on one block
            of rows in eight; None when it packed nothing.
    """

    step: str
    action: Literal["run", "kept", "skipped"]
    note: str
    bits: int | None
    relative_error: float | None


@dataclass(frozen=True)
class PrepareResult:
    """A finished run.

    Attributes:
        directory: the prepared checkpoint.
        action: "prepared", or "unchanged" when it was there already.
        steps: what each step did.
        outputs: file name -> {"size": bytes, "sha256": hex}, as in prepared.json.
        written_bytes: bytes written by this run (links and resumed files not counted).
        seconds: wall time.
        peak_rss_bytes: highest resident memory of the process so far.
        kept: where the result that was replaced is now, when it held files that are not ours.
    """

    directory: Path
    action: Literal["prepared", "unchanged"]
    steps: tuple[StepResult, ...]
    outputs: dict[str, dict[str, Any]]
    written_bytes: int
    seconds: float
    peak_rss_bytes: int
    kept: Path | None = None


def run(
    base: Path,
    out: Path,
    *,
    steps: Sequence[str] | None = None,
    head_bits: int = 8,
    embed_bits: int = 8,
    mtp_bits: int = 8,
    draft_vocab: Path | None = None,
    overlay: Path | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    force: bool = False,
) -> PrepareResult:
    """Prepare a checkpoint: run the steps that are missing and put the result at ``out``.

    Args:
        base: directory of the base checkpoint; never changed.
        out: the prepared checkpoint; unchanged files are hard links to the base's.
        steps: names out of ``STEPS``; None means all that apply.
        head_bits: 4 or 8, for ``lm_head`` (and so for the draft head).
        embed_bits: 4 or 8, for the input embedding.
        mtp_bits: 4 or 8, for the MTP module's linears.
        draft_vocab: list of token ids for the draft head (.pt or .json), or None.
        overlay: directory of a variant's files (head, MTP module, draft vocabulary), or None.
        threads: worker threads; None means one for each CPU this process may use.
        progress: called with a :class:`Progress`, from any thread, never twice at a time.
        force: replace an ``out`` that was prepared from other inputs or with other parameters,
            or that is damaged. One that is right is left alone all the same, and one that
            holds files of the user's is moved to ``NAME.replaced-N``, not removed.

    Returns:
        A :class:`PrepareResult`. The same inputs and parameters give the same bytes.

    Raises:
        PrepareError: a bad option or input, a full disk, or ``out`` holds something else. A
            refused run changes nothing.
    """
    started = time.monotonic()
    options = make_options(steps, head_bits, embed_bits, mtp_bits, draft_vocab, overlay)
    workers = threads if threads is not None else len(os.sched_getaffinity(0))
    if workers < 1:
        raise PrepareError(f"--threads {workers}: at least 1", "use --threads 2", exit_code=2)
    target = resolve_target(out, {"base": base, "overlay": overlay})
    with _disk_errors(target):
        plan = plan_run(base, options)
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target):
            return _Run(plan, target, workers, Meter(progress), force, started).go(
                options.parameters()
            )


class _Run:
    """One run that holds the target's lock."""

    def __init__(
        self,
        plan: Prepared,
        target: Path,
        threads: int,
        meter: Meter,
        force: bool,
        started: float,
    ) -> None:
        self.plan, self.target, self.threads = plan, target, threads
        self.meter, self.force, self.started = meter, force, started

    def go(self, parameters: dict[str, Any]) -> PrepareResult:
        inputs = self._hash_inputs()
        named: dict[str, dict[str, Any]] = {}
        for (kind, name), path in self.plan.sources.items():
            entry = {"sha256": inputs[path], "size": path.stat().st_size}
            named.setdefault(kind, {})[name] = entry
        asked = manifest.request(parameters, named)
        staging = Staging(self.target, manifest.key(asked))
        outputs = existing(self.target, asked, inputs, self.meter, force=self.force)
        if outputs is not None:
            staging.discard()
            return self._result("unchanged", outputs, 0, {})
        assembly = Assembly(self.plan, staging, inputs, self.threads, self.meter)
        check_space(self.target, assembly.bytes_needed())
        try:
            staging.open()
            outputs = assembly.write()
            refuse_errors(content_rules(load(staging.files)))
        except PrepareError:
            staging.discard()
            raise
        write_whole(staging.files / MANIFEST, manifest.dump(asked, outputs))
        sync_directory(staging.files)
        publish(staging.files, self.target)
        kept = keep_foreign(staging.files, self.target)
        staging.discard()
        return self._result("prepared", outputs, assembly.written, assembly.errors, kept)

    def _hash_inputs(self) -> dict[Path, str]:
        paths = sorted(set(self.plan.sources.values()), key=lambda p: -p.stat().st_size)
        self.meter.expect(sum(path.stat().st_size for path in paths))

        def one(path: Path) -> str:
            return sha256(path, lambda count: self.meter.add("hash", path.name, count))

        with ThreadPoolExecutor(self.threads) as pool:
            return dict(zip(paths, pool.map(one, paths), strict=True))

    def _result(
        self,
        action: Literal["prepared", "unchanged"],
        outputs: dict[str, Any],
        written: int,
        errors: dict[str, dict[str, float]],
        kept: Path | None = None,
    ) -> PrepareResult:
        steps = tuple(
            StepResult(
                p.step, p.action, p.note, p.bits, max(errors.get(p.step, {}).values(), default=None)
            )
            for p in self.plan.plans
        )
        seconds = time.monotonic() - self.started
        rss = peak_rss()
        return PrepareResult(self.target, action, steps, outputs, written, seconds, rss, kept)


def peak_rss() -> int:
    """Highest resident memory of this process in bytes (0 where the kernel does not say)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


@contextlib.contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or target
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise PrepareError(
                f"{where}: the disk is full ({error.strerror}); finished files are kept",
                "free some space and run the same command again: it resumes",
            ) from error
        raise PrepareError(
            f"{where}: {error.strerror or error}", "mend that and run the same command again"
        ) from error
