"""Limits, modes, pool and speculation of a running engine, against settings and memory plan."""

from typing import Any

from qwen3090.config.derive import decode_lengths
from qwen3090.plan.specs import ATTENTION, RECURRENT, WINDOW
from qwen3090.serve.render import METHODS
from qwen3090.verify.live.facts import Promise
from qwen3090.verify.live.requests import finding
from qwen3090.verify.report import Finding, Status

Report = dict[str, Any]
KINDS = {"FullAttentionSpec": ATTENTION, "MambaSpec": RECURRENT, "SlidingWindowSpec": WINDOW}


def different(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a text for each key whose values differ, naming both."""
    return [
        f"{key} is {found.get(key)!r}, the profile says {value!r}"
        for key, value in expected.items()
        if found.get(key) != value
    ]


def settings(check: str, promise: Promise, report: Report) -> Finding:
    """Compare limits and modes."""
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


def prefix_cache(check: str, promise: Promise, report: Report) -> Finding:
    """Compare prefix caching and how recurrent state takes part in it."""
    on = promise.config.prefix_cache
    expected = {"prefix_cache": on, "state_cache_mode": "align" if on else "none"}
    good = "on, recurrent state in align mode" if on else "off"
    return finding(check, different(expected, report["settings"]), good)


def runner(check: str, promise: Promise, report: Report) -> Finding:
    """Compare the model runner."""
    wrong = different({"runner": promise.config.runner}, report["settings"])
    return finding(check, wrong, report["settings"]["runner_class"])


def knobs(check: str, promise: Promise, report: Report) -> Finding:
    """Compare what our code was given."""
    found = report["settings"]["knobs"]
    wrong = "" if found == promise.knobs else f"the engine has {found}, expected {promise.knobs}"
    return finding(check, wrong, str(found) if found else "none, as the profile says")


def pool(check: str, promise: Promise, report: Report) -> Finding:
    """Compare blocks, tokens, bytes and groups with the memory plan."""
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


def speculation(check: str, promise: Promise, report: Report) -> Finding:
    """Compare method and drafted tokens."""
    c, found = promise.config, report["speculation"]
    by_batch = [length - 1 for length in decode_lengths(c)] if c.draft_tokens_by_batch else None
    expected = {
        "method": METHODS.get(c.speculation),
        "tokens": c.draft_tokens or 0,
        "by_batch": by_batch,
    }
    if c.speculation == "dflash2" and not str(found.get("class", "")).startswith("DFlash2"):
        wrong = [f"{found.get('class')} drafts, without the candidate selector of DFlash2"]
    else:
        wrong = different(expected, found)
    good = "none" if c.speculation == "none" else f"{found.get('class')} of {found.get('model')}"
    tokens = f"{c.draft_tokens or 0} tokens"
    if by_batch:
        tokens = f"{', '.join(map(str, by_batch))} tokens in a step of 1, 2, ... requests"
    return finding(check, wrong, f"{good}, {tokens}")


def sampling(check: str, promise: Promise, report: Report) -> Finding:
    """Compare how drafts are picked and verified."""
    c, found = promise.config, report["speculation"]
    if c.speculation == "none":
        return Finding(check, Status.SKIP, "nothing is drafted")
    expected: dict[str, Any] = {"sampling": c.draft_sampling, "rejection": c.rejection_sampling}
    if c.speculation == "dflash2" and c.device == "cuda":
        expected["selector"] = c.candidate_topk
    wrong = different(expected, found)
    return finding(check, wrong, ", ".join(f"{key} {value}" for key, value in expected.items()))


def vocabulary(check: str, promise: Promise, report: Report) -> Finding:
    """Compare the draft vocabulary."""
    wanted, found = promise.draft_vocabulary, report["speculation"].get("draft_vocabulary")
    wrong = "" if found == wanted else f"{found} tokens, the checkpoint and profile say {wanted}"
    return finding(check, wrong, f"{found} tokens" if found else "none, as the profile says")
