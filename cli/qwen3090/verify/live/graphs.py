"""Do decode steps run in CUDA graphs: the target's for every number of requests, the drafter's too?

FlashInfer captures no step of several tokens a request on this card (vLLM then resolves the mode to
PIECEWISE, config/compilation.py:1441), and the drafts after it run without a graph.
"""

from typing import Any

from qwen3090.config.derive import decode_lengths
from qwen3090.verify.live.facts import Promise
from qwen3090.verify.live.requests import finding
from qwen3090.verify.plan import decode_shapes
from qwen3090.verify.report import Finding, Status

SINGLE_TOKEN = "FLASHINFER"  # noqa: S105 - a backend without graphs for several tokens a request


def _asked(promise: Promise) -> bool:
    return promise.config.device == "cuda" and not promise.config.eager


def _piecewise(promise: Promise) -> bool:
    return promise.backend == SINGLE_TOKEN and promise.query > 1


def target(check: str, promise: Promise, report: dict[str, Any]) -> Finding:
    """Compare the target's graphs with what the settings give each number of requests."""
    found = report["graphs"]
    if not _asked(promise):
        wrong = "" if found["mode"] == "NONE" else f"mode {found['mode']}, the profile says none"
        return finding(check, wrong, "none, as the profile says")
    mode = "PIECEWISE" if _piecewise(promise) else "FULL"
    shapes, lengths = found["target"].get(mode, []), decode_lengths(promise.config)
    sizes = {shape["tokens"] for every in found["target"].values() for shape in every}
    requests = decode_shapes(promise.config)
    without = [n for n in requests if not _fits(shapes, sizes, n, lengths[n - 1])]
    wrongs = []
    if not shapes:
        wrongs.append(f"no {mode} graph was captured (mode {found['mode']})")
    elif without:
        tokens = without[0] * lengths[without[0] - 1]
        wrongs.append(f"steps of {without[0]} requests ({tokens} tokens) have none")
    return finding(check, wrongs, f"{len(shapes)} {mode} graphs for decoding, mode {found['mode']}")


def drafter(check: str, promise: Promise, report: dict[str, Any]) -> Finding:
    """Say whether what drafts runs in graphs."""
    if promise.config.speculation == "none" or not _asked(promise):
        return Finding(check, Status.SKIP, "nothing is drafted, or no graphs are asked for")
    managers = report["graphs"]["drafter"].items()
    full = {name: modes["FULL"] for name, modes in managers if modes.get("FULL")}
    if _piecewise(promise):
        text = f"{promise.backend} has no graph for {promise.query} tokens: drafts run without"
        return Finding(check, Status.WARN, text, "qwen3090 config show  # attention_backend")
    requests = decode_shapes(promise.config)
    wrongs = []
    if not full:
        wrongs.append("no FULL graph was captured: drafts run without, at a fraction of the speed")
    else:
        every = [shape for shapes in full.values() for shape in shapes]
        without = [n for n in requests if not any(_holds(shape, n) for shape in every)]
        wrongs += [f"drafting for {without[0]} requests has none"] if without else []
    shown = ", ".join(f"{name} {len(shapes)}" for name, shapes in full.items())
    return finding(check, wrongs, f"FULL graphs: {shown}")


def _fits(shapes: list[dict[str, Any]], sizes: set[int], requests: int, query: int) -> bool:
    """Return whether the next captured size has a graph among ``shapes`` for such a step.

    A step takes the next size of any mode, never a larger one (vllm/v1/worker/gpu/
    cudagraph_utils.py:289).
    """
    size = min((size for size in sizes if size >= requests * query), default=0)
    return any(s["query"] in (None, query) and s["tokens"] == size for s in shapes)


def _holds(shape: dict[str, Any], requests: int) -> bool:
    return bool(shape["tokens"] >= requests * (shape["query"] or 1))
