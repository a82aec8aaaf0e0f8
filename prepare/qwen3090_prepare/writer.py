"""Writes one safetensors file of the draft: rows streamed through small blocks, on several threads.

Every task reads its own rows and writes its own byte range, so threads share nothing and the bytes
do not depend on their number. Memory is a few MB a thread, whatever the size of the tensors.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from qwen3090_prepare.draft import Job, Placed, Quantize, Slice, Write
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.files import CHUNK, read_at, write_at
from qwen3090_prepare.header import ITEM_SIZE, Layout, Spec, Stored, layout
from qwen3090_prepare.quantize import dequantize_rows, quantize_rows, to_float32

_BLOCK_ELEMENTS = 1 << 17  # fp32 weights of a block and its scratch stay in a core's L2 cache
_BLOCKS_PER_TASK = 8
_NUMPY = {"BF16": np.uint16, "F16": np.uint16, "F32": np.float32}

Seen = Callable[[str, int], None]  # step, source bytes processed
Locate = Callable[[str], Stored]  # a tensor that this run has written -> where


@dataclass
class Errors:
    """Sampled squared error and squared norm by module (one block in eight)."""

    sums: dict[str, list[tuple[int, float, float]]] = field(default_factory=dict)

    def relative(self) -> dict[str, float]:
        """Return the relative error (Frobenius) of each module that was quantized."""
        result = {}
        for module, parts in sorted(self.sums.items()):
            ordered = sorted(parts)
            norm = sum(part[2] for part in ordered)
            result[module] = (sum(part[1] for part in ordered) / norm) ** 0.5 if norm else 0.0
        return result


def plan_layout(placed: Sequence[Placed]) -> Layout:
    """Return the layout of the file that holds these tensors."""
    return layout(p.spec for p in placed)


def write_file(
    path: Path,
    placed: Sequence[Placed],
    jobs: Sequence[Job],
    *,
    threads: int,
    locate: Locate,
    seen: Seen,
) -> dict[str, float]:
    """Write ``path`` (created or overwritten) and return the relative error by module.

    Args:
        path: the file to write; not fsynced here.
        placed: every tensor of the file.
        jobs: how the tensors without a source come about.
        threads: workers.
        locate: finds a tensor that another file of this run holds.
        seen: told of source bytes as they are done.

    Raises:
        PrepareError: a weight cannot be quantized (NaN, infinity, scale out of range).
        OSError: reading or writing failed.
    """
    plan = plan_layout(placed)
    errors = Errors()
    with ExitStack() as stack:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        stack.callback(os.close, fd)
        _allocate(fd, plan.size)
        write_at(fd, memoryview(plan.header), 0)
        sources = _Sources(stack)
        copies = [p for p in placed if p.source is not None]
        tasks = [t for p in copies for t in _copy_tasks(fd, p, plan, sources, seen)]
        for job in jobs:
            if isinstance(job, Quantize):
                tasks += _quantize_tasks(fd, job, plan, sources, seen, errors)
            elif isinstance(job, Write):
                write_at(fd, memoryview(job.data), plan.offsets[job.target])
        _run(tasks, threads)
        own = {p.spec.name: Stored(p.spec, path, plan.offsets[p.spec.name]) for p in placed}
        for job in jobs:
            if isinstance(job, Slice):
                origin = job.origin
                if isinstance(origin, str):
                    origin = own[origin] if origin in own else locate(origin)
                _slice(fd, job, plan.offsets[job.target], origin, sources)
                seen(job.step, 0)
    return errors.relative()


class _Sources:
    """Open source files, one descriptor each, shared by the threads (pread keeps no position)."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._open: dict[Path, int] = {}

    def fd(self, path: Path) -> int:
        if path not in self._open:
            self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._stack.callback(os.close, self._open[path])
        return self._open[path]


def _allocate(fd: int, size: int) -> None:
    """Reserve the bytes now, so that a full disk shows before the work, not after."""
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno not in (22, 38, 95):  # EINVAL, ENOSYS, EOPNOTSUPP: no such call here
            raise
        os.ftruncate(fd, size)


def _run(tasks: list[Callable[[], None]], threads: int) -> None:
    stop = threading.Event()

    def guarded(task: Callable[[], None]) -> None:
        if stop.is_set():
            return
        try:
            task()
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(threads, thread_name_prefix="prepare") as pool:
        for _ in pool.map(guarded, tasks):
            pass


def _copy_tasks(
    fd: int, placed: Placed, plan: Layout, sources: _Sources, seen: Seen
) -> Iterator[Callable[[], None]]:
    assert placed.source is not None
    source, start = sources.fd(placed.source.path), plan.offsets[placed.spec.name]
    for begin in range(0, placed.spec.nbytes, CHUNK):
        count = min(CHUNK, placed.spec.nbytes - begin)
        origin = placed.source.offset + begin

        def copy(count: int = count, origin: int = origin, target: int = start + begin) -> None:
            view = memoryview(bytearray(count))
            read_at(source, view, origin)
            write_at(fd, view, target)
            seen("copy", count)

        yield copy


def _quantize_tasks(
    fd: int, job: Quantize, plan: Layout, sources: _Sources, seen: Seen, errors: Errors
) -> Iterator[Callable[[], None]]:
    rows, width = job.source.spec.shape
    shape = np.array([rows, width], dtype="<i8").tobytes()
    write_at(fd, memoryview(shape), plan.offsets[f"{job.module}.weight_shape"])
    source = sources.fd(job.source.path)
    parts = errors.sums.setdefault(job.module, [])
    block = max(1, _BLOCK_ELEMENTS // width)
    step = block * _BLOCKS_PER_TASK
    for begin in range(0, rows, step):

        def task(begin: int = begin) -> None:
            count = min(step, rows - begin)
            sample = _quantize(fd, source, job, plan, begin, count, block)
            parts.append((begin, *sample))
            seen(job.step, count * width * ITEM_SIZE[job.source.spec.dtype])

        yield task


def _quantize(
    fd: int, source: int, job: Quantize, plan: Layout, begin: int, count: int, block: int
) -> tuple[float, float]:
    """Quantize rows begin ... begin + count; return squared error and norm of the first block."""
    spec, width = job.source.spec, job.source.spec.shape[1]
    row_bytes = width * ITEM_SIZE[spec.dtype]
    raw = np.empty((count, width), dtype=_NUMPY[spec.dtype])
    read_at(source, raw.data.cast("B"), job.source.offset + begin * row_bytes)
    packed = np.empty((count, width * job.bits // 8), dtype=np.uint8)
    scales = np.empty((count, width // 128), dtype=np.uint16)
    sample = (0.0, 0.0)
    for low in range(0, count, block):
        rows = slice(low, min(low + block, count))
        weights = to_float32(raw[rows], spec.dtype)
        try:
            packed[rows], scales[rows] = quantize_rows(weights, job.bits, job.scale_dtype)
        except PrepareError as error:
            raise _with_row(error, spec, job, begin + low) from error
        if low == 0:
            sample = _error(raw[rows], packed[rows], scales[rows], job)
    write_at(
        fd,
        packed.data.cast("B"),
        plan.offsets[f"{job.module}.weight_packed"] + begin * packed.shape[1],
    )
    write_at(
        fd,
        scales.data.cast("B"),
        plan.offsets[f"{job.module}.weight_scale"] + begin * scales.shape[1] * 2,
    )
    return sample


def _error(raw: object, packed: object, scales: object, job: Quantize) -> tuple[float, float]:
    weights = to_float32(raw, job.source.spec.dtype)  # type: ignore[arg-type]
    weights_sum = float(np.square(weights, dtype=np.float64).sum())
    weights -= dequantize_rows(packed, scales, job.bits, job.scale_dtype)  # type: ignore[arg-type]
    return float(np.square(weights, dtype=np.float64).sum()), weights_sum


def _with_row(error: PrepareError, spec: Spec, job: Quantize, first: int) -> PrepareError:
    _, row, rest = error.problem.split(" ", 2)
    return PrepareError(
        f"{job.source.path}: '{spec.name}': row {first + int(row)} {rest}",
        "fetch the base again; its weights are damaged",
    )


def _slice(fd: int, job: Slice, target: int, origin: Stored, sources: _Sources) -> None:
    row = origin.spec.nbytes // origin.spec.shape[0]
    source = sources.fd(origin.path)
    batch = max(1, CHUNK // row)
    for begin in range(0, job.ids.size, batch):
        ids = job.ids[begin : begin + batch]
        view = memoryview(bytearray(ids.size * row))
        for at, token in enumerate(ids.tolist()):
            read_at(source, view[at * row : (at + 1) * row], origin.offset + token * row)
        write_at(fd, view, target + begin * row)
