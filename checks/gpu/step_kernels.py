"""Lists the GPU kernels of a decode step, largest first."""

import collections
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from decode import Load, add


def kernels(llm: Any, what: Load, steps: int = 5, top: int = 14) -> list[str]:
    """Profile ``steps`` decode steps; return the largest kernels."""
    from torch.profiler import ProfilerActivity, profile

    engine, made = llm.llm_engine, 0
    add(engine, what, 200)
    while made < 12:
        made += bool(engine.step())
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        made = 0
        while made < steps:
            made += bool(engine.step())
        torch.cuda.synchronize()
    while engine.has_unfinished_requests():
        engine.step()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        found.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    total: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0])
    for event in events:
        if event.get("cat") in kinds:
            entry = total[event["name"]]
            entry[0] += 1
            entry[1] += event["dur"]
    busy = sum(entry[1] for entry in total.values()) / steps / 1e3
    count = sum(entry[0] for entry in total.values()) / steps
    lines = [f"KERNELS {what}: busy {busy:.3f} ms a step, {count:.0f} launches"]
    for name, (launches, micro) in sorted(total.items(), key=lambda item: -item[1][1])[:top]:
        lines.append(f"  {micro / steps:9.1f} us {launches / steps:7.1f} x {name[:90]}")
    return lines
