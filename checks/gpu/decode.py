"""Times decode steps of an engine in this process, and lists the kernels of a step."""

import collections
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from vllm import SamplingParams
from vllm.inputs import TokensPrompt

number = itertools.count()


def start(engine: Any, length: int, tokens: int) -> None:
    """Add one request: ``length`` prompt tokens that no earlier request shares."""
    seed = next(number)
    ids = [(7919 * (seed + 1) + 31 * place) % 90000 + 100 for place in range(length)]
    params = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False)
    engine.add_request(str(f"timed-{seed}"), TokensPrompt(prompt_token_ids=ids), params)


def timed(llm: Any, length: int, tokens: int) -> str:
    """Decode ``tokens`` tokens after ``length``; return the mean and median time of a step."""
    engine = llm.llm_engine
    start(engine, length, tokens)
    events, began = [], time.perf_counter()
    while engine.has_unfinished_requests():
        outputs = engine.step()
        if outputs:
            events.append((time.perf_counter(), len(outputs[0].outputs[0].token_ids)))
    kept = events[2:-2]
    gaps = sorted(b[0] - a[0] for a, b in itertools.pairwise(kept))
    seconds, made = kept[-1][0] - kept[0][0], kept[-1][1] - kept[0][1]
    return (
        f"STEP context {length}: {1e3 * seconds / len(gaps):.3f} ms (median "
        f"{1e3 * gaps[len(gaps) // 2]:.3f}), {made / len(gaps):.3f} tokens, "
        f"{len(gaps)} steps; prefill {events[0][0] - began:.3f} s"
    )


def kernels(llm: Any, length: int, steps: int = 5, top: int = 14) -> list[str]:
    """Profile ``steps`` decode steps; return the largest kernels."""
    from torch.profiler import ProfilerActivity, profile

    engine, made = llm.llm_engine, 0
    start(engine, length, 200)
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
    lines = [f"KERNELS context {length}: busy {busy:.3f} ms a step"]
    for name, (count, micro) in sorted(total.items(), key=lambda item: -item[1][1])[:top]:
        lines.append(f"  {micro / steps:9.1f} us {count / steps:7.1f} x {name[:90]}")
    return lines
