"""Attention kernels, recurrent state and cache formats of a running engine, layer by layer."""

from typing import Any

from qwen3090.verify.live.facts import Promise
from qwen3090.verify.live.requests import finding
from qwen3090.verify.report import Finding

Report = dict[str, Any]


def attention(check: str, promise: Promise, report: Report) -> Finding:
    """Compare the target's attention kernels."""
    layers = promise.plan.geometry.attention_layers if promise.plan else None
    found = report["attention"].get("target")
    return _layers(check, found, promise.backend, layers, promise.target_split)


def drafter_attention(check: str, promise: Promise, report: Report) -> Finding:
    """Compare the drafter's, or that there is none."""
    found = report["attention"].get("drafter")
    if promise.config.speculation == "none":
        wrong = f"{found['layers']} drafter layers are loaded" if found else ""
        return finding(check, wrong, "no drafter, as the profile says")
    return _layers(check, found, promise.drafter_backend, None, promise.drafter_split)


def _layers(check: str, found: Any, backend: str, layers: int | None, split: bool) -> Finding:
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
    if found["split"] != (count if split else 0):
        wanted = "all" if split else "none"
        wrong.append(f"our kernels compute {found['split']} layers, by the profile {wanted}")
    how = ", ".join([*found["classes"], *(["our kernels"] if split else [])])
    return finding(check, wrong, f"{count} layers by {backend} ({how})")


def recurrent(check: str, promise: Promise, report: Report) -> Finding:
    """Compare the recurrent layers and the dtype of their state."""
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


def cache(check: str, promise: Promise, report: Report) -> Finding:
    """Compare the formats of the KV caches."""
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
