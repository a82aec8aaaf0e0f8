"""Benchmark: the full-size output head (248,320 x 5,120 bf16) to int8, against plain torch.

    python checks/bench_prepare.py [--rows N] [--repeat N] [--threads N] [--directory DIR]

Writes a random table once, then quantizes it ``--repeat`` times, each in a process of its own, and
prints time and peak memory. The plain version (whole tensor in float32, same layout) gets an eighth
of the rows, since it takes about ten times the table's size in memory.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = 5120
GOAL_S, GOAL_BYTES = 11.0, 2 << 30


def make_table(path: Path, rows: int) -> None:
    """Write ``lm_head.weight``, bf16 [rows, 5120], normal with deviation 0.02."""
    from qwen3090_prepare.header import Spec, layout

    plan = layout([Spec("lm_head.weight", "BF16", (rows, COLUMNS))])
    random = np.random.default_rng(1)
    with path.open("wb") as file:
        file.write(plan.header)
        for begin in range(0, rows, 4096):
            count = min(4096, rows - begin)
            values = random.standard_normal((count, COLUMNS), dtype=np.float32)
            values *= np.float32(0.02)
            file.write((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())
        file.flush()
        os.fsync(file.fileno())


def streamed(source: Path, target: Path, threads: int) -> dict[str, float]:
    """Quantize with the product's writer; time the work, then the sync and the hash."""
    from qwen3090_prepare.draft import Placed, Quantize
    from qwen3090_prepare.files import sha256, sync_file
    from qwen3090_prepare.header import Stored, read_header
    from qwen3090_prepare.runner import peak_rss
    from qwen3090_prepare.steps import packed_specs
    from qwen3090_prepare.writer import write_file

    def nowhere(tensor: str) -> Stored:
        raise LookupError(tensor)

    began, began_cpu = time.monotonic(), time.process_time()
    table = read_header(source)["lm_head.weight"]
    job = Quantize("lm-head", "lm_head", table, 8, "F16")
    placed = [Placed(s, target.name, None) for s in packed_specs("lm_head", table.spec.shape, job)]
    errors = write_file(
        target, placed, [job], threads=threads, locate=nowhere, seen=lambda _step, _count: None
    )
    work, work_cpu = time.monotonic(), time.process_time()
    sync_file(target)
    synced = time.monotonic()
    digest = sha256(target)
    end = time.monotonic()
    return {
        "work_s": work - began,
        "sync_s": synced - work,
        "hash_s": end - synced,
        "cpu_s": work_cpu - began_cpu,
        "peak_bytes": peak_rss(),
        "relative_error": errors["lm_head"],
        "sha256": digest,  # type: ignore[dict-item]
    }


def plain(source: Path, target: Path, rows: int) -> dict[str, float]:
    """Quantize the first ``rows`` rows as a whole tensor in float32, with torch, and save them."""
    import torch
    from qwen3090_prepare.runner import peak_rss
    from safetensors import safe_open
    from safetensors.torch import save_file

    began, began_cpu = time.monotonic(), time.process_time()
    with safe_open(source, framework="pt") as file:
        weight = file.get_slice("lm_head.weight")[:rows]
    groups = weight.float().view(rows, -1, 128)
    scale = (groups.abs().amax(-1) / 127).clamp(min=1e-10)
    codes = torch.round(groups / scale[..., None]).clamp(-128, 127).to(torch.int32) + 128
    fields = codes.view(rows, -1, 4)
    words = torch.zeros(rows, COLUMNS // 4, dtype=torch.int32)
    for place in range(4):
        words |= fields[..., place] << (8 * place)
    tensors = {"weight_packed": words, "weight_scale": scale.half()}
    save_file({f"lm_head.{name}": tensor for name, tensor in tensors.items()}, target)
    work, cpu = time.monotonic() - began, time.process_time() - began_cpu
    return {"work_s": work, "cpu_s": cpu, "peak_bytes": peak_rss()}


def child(kind: str, source: Path, target: Path, number: int) -> dict[str, float]:
    """Run one measurement in a fresh process, so that its peak memory is its own."""
    command = [sys.executable, __file__, "--child", kind, str(source), str(target), str(number)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    target.unlink()
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> int:
    """Measure, print, and return 1 when the goal is missed."""
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    top.add_argument("--rows", type=int, default=248320)
    top.add_argument("--repeat", type=int, default=5)
    top.add_argument("--threads", type=int, default=2)
    top.add_argument("--directory", type=Path, default=None)
    top.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = top.parse_args()
    if given.child:
        kind, source, target, number = given.child
        measure = streamed if kind == "streamed" else plain
        print(json.dumps(measure(Path(source), Path(target), int(number))))
        return 0
    cpu = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x]
    cores = len(os.sched_getaffinity(0))
    print(f"cpu: {cpu[0].split(':')[1].strip() if cpu else platform.machine()}, {cores} cores")
    print(f"python {platform.python_version()}, numpy {np.__version__}")
    print(f"table: {given.rows} x {COLUMNS} bf16, {given.rows * COLUMNS * 2 / 1e9:.2f} GB")
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        source, target = Path(directory) / "table.safetensors", Path(directory) / "out.safetensors"
        make_table(source, given.rows)
        runs = []
        for turn in range(given.repeat):
            one = child("streamed", source, target, given.threads)
            runs.append(one)
            print(
                f"streamed {turn + 1}: work {one['work_s']:.2f} s (cpu {one['cpu_s']:.2f} s), "
                f"sync {one['sync_s']:.2f} s, sha256 {one['hash_s']:.2f} s, "
                f"peak {one['peak_bytes'] / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        eighth = given.rows // 8
        small = child("plain", source, target, eighth)
    times = [one["work_s"] for one in runs]
    peak = max(one["peak_bytes"] for one in runs)
    same = len({one["sha256"] for one in runs}) == 1
    print(f"relative error {100 * runs[0]['relative_error']:.3f} %, all outputs equal: {same}")
    cpu_s = statistics.median(one["cpu_s"] for one in runs)
    print(
        f"streamed, all rows: best {min(times):.2f} s, median {statistics.median(times):.2f} s, "
        f"median cpu {cpu_s:.2f} s, peak {peak / 1e6:.0f} MB"
    )
    print(
        f"plain float32, {eighth} rows: {small['work_s']:.2f} s (cpu {small['cpu_s']:.2f} s), "
        f"{small['peak_bytes'] / 1e9:.2f} GB"
    )
    print(f"plain, times 8: {8 * small['work_s']:.1f} s")
    met = min(times) <= GOAL_S and peak <= GOAL_BYTES and same
    print(f"goal (best at most {GOAL_S:.0f} s and 2 GiB): {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
