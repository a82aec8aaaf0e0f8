"""Compares the worker's report with what the profile promises; each difference names both."""

from collections.abc import Callable, Iterator
from typing import Any

from qwen3090.data import load_json
from qwen3090.verify.live import attention, graphs, linears, settings
from qwen3090.verify.live.facts import Promise
from qwen3090.verify.live.requests import finding
from qwen3090.verify.report import Finding, Status

Report = dict[str, Any]
FREE = 256 << 20  # bytes of the card below which the next allocation may be the last


def compare(promise: Promise, report: Report) -> Iterator[Finding]:
    """Yield one finding for each fact; a section that could not be reported FAILs.

    Args:
        promise: what is expected (``facts.promise``).
        report: the worker's report (``qwen3090_ops.live.report``).
    """
    sections = {name: part for name, part in report.items() if isinstance(part, dict)}
    lost = {name: part["error"] for name, part in sections.items() if "error" in part}
    usable = {name: part for name, part in sections.items() if name not in lost}
    yield from _hooks(report)
    for check, ask in CHECKS.items():
        try:
            yield ask(check, promise, usable)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reasons = [f"{name} could not be reported: {text}" for name, text in lost.items()]
            text = "; ".join(reasons) or f"the report is not as expected: {error!r}"
            yield finding(check, text, "")


def _hooks(report: Report) -> Iterator[Finding]:
    hooks = report.get("hooks", {}).get("hooks") or []
    if not hooks:
        text = f"the engine reports no hooks {report.get('hooks', {}).get('error', '')}".strip()
        yield finding("live.ops", text, "")
    for hook in hooks:
        wrong = "" if hook["active"] else f"inactive in the engine: {hook['detail']}"
        yield finding(f"live.ops.{hook['name']}", wrong, hook["detail"])


def _series(check: str, promise: Promise, report: Report) -> Finding:
    found = report["series"]
    wrong = []
    if found["hash"] != promise.series_hash:
        have = f"series {found['hash'][:12]}" if found["hash"] else "no series"
        wrong.append(f"{found['tree']} has {have}, this installation {promise.series_hash[:12]}")
    wrong += [f"{path} was changed after patching" for path in found["wrong"]]
    wrong += [f"{path} was changed after the engine started" for path in found["newer"]]
    good = f"series {found['hash']} in {found['tree']}, all files as it leaves them"
    return finding(check, wrong[:4], good)


def _versions(check: str, _: Promise, report: Report) -> Finding:
    pins, found = load_json("pins.json"), report["machine"]
    wrong = [
        f"{name} is {found[name]}, pinned {pins['engine'][name]}"
        for name in ("vllm", "torch")
        if found[name].partition("+")[0] != pins["engine"][name]
    ]
    names = ("vllm", "torch", "triton", "flashinfer", "cuda", "python")
    return finding(check, wrong, ", ".join(f"{name} {found[name]}" for name in names))


def _device(check: str, promise: Promise, report: Report) -> Finding:
    found, wanted = report["machine"], promise.config.device
    text = f"{found.get('name', found['device'])} {found.get('capability', '')}".strip()
    wrong = "" if found["device"].startswith(wanted) else f"runs on {text}, not on {wanted}"
    return finding(check, wrong, text)


def _memory(check: str, promise: Promise, report: Report) -> Finding:
    found = report["machine"]
    if promise.config.device != "cuda":
        return Finding(check, Status.SKIP, "no card is used")
    gib = {key: found[f"{key}_bytes"] / 2**30 for key in ("reserved", "peak_reserved", "free")}
    text = (
        f"{gib['reserved']:.2f} GiB reserved (peak {gib['peak_reserved']:.2f}), "
        f"{gib['free']:.2f} GiB of the card free"
    )
    if found["free_bytes"] < FREE:
        return Finding(check, Status.WARN, text, "qwen3090 config show  # lower kv_bytes or seats")
    return Finding(check, Status.PASS, text)


CHECKS: dict[str, Callable[[str, Promise, Report], Finding]] = {
    "live.series": _series,
    "live.versions": _versions,
    "live.device": _device,
    "live.memory": _memory,
    "live.settings": settings.settings,
    "live.prefix-cache": settings.prefix_cache,
    "live.runner": settings.runner,
    "live.knobs": settings.knobs,
    "live.attention": attention.attention,
    "live.drafter-attention": attention.drafter_attention,
    "live.recurrent": attention.recurrent,
    "live.kv-cache": attention.cache,
    "live.pool": settings.pool,
    "live.graphs": graphs.target,
    "live.drafter-graphs": graphs.drafter,
    "live.linears": linears.body,
    "live.head": linears.head,
    "live.embedding": linears.embedding,
    "live.drafter-linears": linears.drafter,
    "live.speculation": settings.speculation,
    "live.sampling": settings.sampling,
    "live.draft-vocabulary": settings.vocabulary,
}
