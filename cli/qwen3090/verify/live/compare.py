"""Compares the worker's report with what the profile promises; each difference names both."""

from collections.abc import Callable, Iterator
from typing import Any

from qwen3090.data import load_json
from qwen3090.plan.specs import ATTENTION, RECURRENT, WINDOW
from qwen3090.serve.render import METHODS
from qwen3090.verify.live import graphs, linears
from qwen3090.verify.live.facts import Promise
from qwen3090.verify.live.requests import finding
from qwen3090.verify.report import Finding, Status

Report = dict[str, Any]
KINDS = {"FullAttentionSpec": ATTENTION, "MambaSpec": RECURRENT, "SlidingWindowSpec": WINDOW}
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


def different(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a text for each key whose values differ, naming both."""
    return [
        f"{key} is {found.get(key)!r}, the profile says {value!r}"
        for key, value in expected.items()
        if found.get(key) != value
    ]


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


def _settings(check: str, promise: Promise, report: Report) -> Finding:
    c = promise.config
    expected: dict[str, Any] = {
        "dtype": c.dtype,
        "context": c.context,
        "seats": c.seats,
        "max_batched_tokens": c.max_batched_tokens,
        "async_scheduling": c.async_scheduling,
        "eager": c.eager,
    }
    if c.model is not None:
        expected["model"] = str(c.model.absolute())
    wrong = different(expected, report["settings"])
    vision = report["settings"]["vision_bytes"]
    if c.language_model_only and vision:
        wrong.append(f"a vision tower of {vision} bytes is loaded, and language_model_only is set")
    shown = ", ".join(f"{key} {value}" for key, value in expected.items() if key != "model")
    return finding(check, wrong, shown)


def _prefix_cache(check: str, promise: Promise, report: Report) -> Finding:
    on = promise.config.prefix_cache
    expected = {"prefix_cache": on, "state_cache_mode": "align" if on else "none"}
    good = "on, recurrent state in align mode" if on else "off"
    return finding(check, different(expected, report["settings"]), good)


def _runner(check: str, promise: Promise, report: Report) -> Finding:
    wrong = different({"runner": promise.config.runner}, report["settings"])
    return finding(check, wrong, report["settings"]["runner_class"])


def _knobs(check: str, promise: Promise, report: Report) -> Finding:
    found = report["settings"]["knobs"]
    wrong = "" if found == promise.knobs else f"the engine has {found}, expected {promise.knobs}"
    return finding(check, wrong, str(found) if found else "none, as the profile says")


def _attention(check: str, promise: Promise, report: Report) -> Finding:
    layers = promise.plan.geometry.attention_layers if promise.plan else None
    return _layers(check, report["attention"].get("target"), promise.backend, layers)


def _drafter_attention(check: str, promise: Promise, report: Report) -> Finding:
    found = report["attention"].get("drafter")
    if promise.config.speculation == "none":
        wrong = f"{found['layers']} drafter layers are loaded" if found else ""
        return finding(check, wrong, "no drafter, as the profile says")
    return _layers(check, found, promise.drafter_backend, None)


def _layers(check: str, found: Any, backend: str, layers: int | None) -> Finding:
    if not found:
        return finding(check, "the engine has no such layers", "")
    count = found["layers"]
    wrong = []
    if found["backends"] != {backend: count}:
        wrong.append(f"{found['backends']}, the profile says {backend}")
    if layers is not None and count != layers:
        wrong.append(f"{count} layers, the checkpoint has {layers}")
    if found["bound"] != count:
        wrong.append(f"{count - found['bound']} layers have no cache")
    return finding(check, wrong, f"{count} layers by {backend} ({', '.join(found['classes'])})")


def _recurrent(check: str, promise: Promise, report: Report) -> Finding:
    found = report["attention"]["recurrent"]
    count, wrong = found["layers"], []
    if found["state"] != {promise.state: count}:
        wrong.append(f"state is {found['state']}, the profile says {promise.state}")
    expected = promise.plan.geometry.recurrent_layers if promise.plan else count
    if count != expected:
        wrong.append(f"{count} layers, the checkpoint has {expected}")
    if found["bound"] != count:
        wrong.append(f"{count - found['bound']} layers have no state")
    how = f"prefill {', '.join(found['prefill'])}, decode {', '.join(found['decode'])}"
    return finding(check, wrong, f"{count} layers, {promise.state} state, {how}")


def _cache(check: str, promise: Promise, report: Report) -> Finding:
    wrong, shown = [], []
    for role, wanted in (("target", promise.cache), ("drafter", promise.drafter_cache)):
        found = report["attention"].get(role)
        if not found:
            continue
        formats = {name.replace("fp8_e4m3", "fp8") for name in found["cache"]}
        if formats != {wanted}:
            wrong.append(f"{role}: {sorted(formats)}, the profile says {wanted}")
        shown.append(f"{role} {wanted}")
    return finding(check, wrong, ", ".join(shown))


def _pool(check: str, promise: Promise, report: Report) -> Finding:
    plan, found = promise.plan, report["pool"]
    text = f"{found['tokens']:,} tokens in {found['blocks']} blocks, {found['bytes']:,} bytes"
    if plan is None:
        context = promise.config.context
        wrong = f"{text}: less than the context" if found["tokens"] < context else ""
        return finding(check, wrong, f"{text} (no plan to compare with)")
    expected = {
        "blocks": plan.blocks_available,
        "tokens": plan.pool_tokens,
        "bytes": plan.blocks_available * plan.block_bytes,
    }
    wrongs = different(expected, found)
    groups = sorted(
        (KINDS.get(g["kind"], g["kind"]), g["layers"], g["block"], g["page"])
        for g in found["groups"]
    )
    planned = sorted((g.spec.kind, g.layers, g.spec.block, g.spec.page) for g in plan.groups)
    if groups != planned:
        wrongs.append(f"groups (kind, layers, block, page) are {groups}, the plan says {planned}")
    return finding(check, wrongs, f"{text}, as planned")


def _speculation(check: str, promise: Promise, report: Report) -> Finding:
    c, found = promise.config, report["speculation"]
    expected = {"method": METHODS.get(c.speculation), "tokens": c.draft_tokens or 0}
    if c.speculation == "dflash2" and not str(found.get("class", "")).startswith("DFlash2"):
        wrong = [f"{found.get('class')} drafts, without the candidate selector of DFlash2"]
    else:
        wrong = different(expected, found)
    good = "none" if c.speculation == "none" else f"{found.get('class')} of {found.get('model')}"
    return finding(check, wrong, f"{good}, {c.draft_tokens or 0} tokens")


def _sampling(check: str, promise: Promise, report: Report) -> Finding:
    c, found = promise.config, report["speculation"]
    if c.speculation == "none":
        return Finding(check, Status.SKIP, "nothing is drafted")
    expected: dict[str, Any] = {"sampling": c.draft_sampling, "rejection": c.rejection_sampling}
    if c.speculation == "dflash2" and c.device == "cuda":
        expected["selector"] = "flashinfer"
    wrong = different(expected, found)
    return finding(check, wrong, ", ".join(f"{key} {value}" for key, value in expected.items()))


def _vocabulary(check: str, promise: Promise, report: Report) -> Finding:
    wanted, found = promise.draft_vocabulary, report["speculation"].get("draft_vocabulary")
    wrong = "" if found == wanted else f"{found} tokens, the checkpoint and profile say {wanted}"
    return finding(check, wrong, f"{found} tokens" if found else "none, as the profile says")


CHECKS: dict[str, Callable[[str, Promise, Report], Finding]] = {
    "live.series": _series,
    "live.versions": _versions,
    "live.device": _device,
    "live.memory": _memory,
    "live.settings": _settings,
    "live.prefix-cache": _prefix_cache,
    "live.runner": _runner,
    "live.knobs": _knobs,
    "live.attention": _attention,
    "live.drafter-attention": _drafter_attention,
    "live.recurrent": _recurrent,
    "live.kv-cache": _cache,
    "live.pool": _pool,
    "live.graphs": graphs.target,
    "live.drafter-graphs": graphs.drafter,
    "live.linears": linears.body,
    "live.head": linears.head,
    "live.embedding": linears.embedding,
    "live.drafter-linears": linears.drafter,
    "live.speculation": _speculation,
    "live.sampling": _sampling,
    "live.draft-vocabulary": _vocabulary,
}
