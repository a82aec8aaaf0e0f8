"""Prints a plan: a compact table for people, and the same figures as JSON."""

import json
from typing import Any

from qwen3090.plan.budget import GIB, Item
from qwen3090.plan.model import Plan
from qwen3090.plan.specs import WINDOW


def as_json(plan: Plan, name: str, items: list[Item]) -> str:
    """Return the plan as a JSON object; keys are those of ``Plan``, sizes in bytes and tokens."""
    groups: list[dict[str, Any]] = [
        {
            "kind": g.spec.kind,
            "layers": g.layers,
            "padding": g.padding,
            "block": g.spec.block,
            "page": g.spec.page,
            "content": g.spec.content,
        }
        for g in plan.groups
    ]
    inputs = {key: getattr(plan.inputs, key) for key in plan.inputs.__dataclass_fields__}
    figures = (
        "pool_tokens",
        "blocks_needed",
        "blocks_available",
        "block_size",
        "window_block",
        "page_bytes",
        "block_bytes",
        "state_bytes",
        "fits",
        "max_context",
        "scheduler_block",
        "hash_block",
        "hit_block",
        "kv_bytes",
        "estimated",
    )
    return json.dumps(
        {
            "profile": name,
            "inputs": inputs,
            **{key: getattr(plan, key) for key in figures},
            "geometry": plan.geometry.source,
            "groups": groups,
            "seats_by_context": {str(n): seats for n, seats in plan.seats_by_context.items()},
            "problems": [p._asdict() for p in plan.problems],
            "budget": [vars(item) for item in items],
        },
        indent=2,
    )


def as_text(plan: Plan, name: str, items: list[Item]) -> str:
    """Return the plan as lines of text."""
    about = " (estimate)" if plan.estimated else ""
    verdict = "fits" if plan.fits else "DOES NOT FIT"
    rows = [
        ("settings", _settings(plan, name)),
        ("model", plan.geometry.source),
        ("pool", f"{plan.pool_tokens:,} tokens{about}: one request of {_context(plan)} {verdict}"),
        (
            "blocks",
            f"{plan.blocks_needed} needed, {plan.blocks_available} available{about}; "
            f"{plan.block_size} tokens, {plan.block_bytes:,} bytes each",
        ),
        (
            "page",
            f"{plan.page_bytes:,} bytes a layer; recurrent state {plan.state_bytes:,} bytes "
            f"({plan.inputs.state_dtype})",
        ),
        ("groups", _groups(plan)),
    ]
    if not plan.fits and plan.max_context:
        rows.append(("longest", f"{plan.max_context:,} tokens would fit"))
    if plan.inputs.prefix_cache:
        rows.append(("prefix", f"hits at multiples of {plan.hit_block:,} tokens"))
    lines = [f"{label:<9} {text}" for label, text in rows]
    lines += ["", "requests resident at once, each of that many tokens" + about, *_seats(plan)]
    if items:
        lines += ["", "bytes of the card (~ estimate)", *_items(items)]
    if plan.estimated:
        lines += [
            "",
            "kv_bytes is unset: the pool depends on gpu_memory_utilization and on what vLLM",
            "measures at its start, which varies by about 1 GiB. Set kv_bytes for a known pool.",
        ]
    if plan.problems:
        lines += ["", "cannot run:"]
        for problem in plan.problems:
            lines += [f"- {problem.key}: {problem.why}", f"    next: {problem.instead}"]
    return "\n".join(lines)


def _context(plan: Plan) -> str:
    return f"{plan.inputs.context:,} tokens"


def _settings(plan: Plan, name: str) -> str:
    i = plan.inputs
    drafting = "no speculation" if i.speculation == "none" else f"{i.speculation} k={i.k}"
    formats = i.target_format.name
    if i.speculation != "none" and i.drafter_format != i.target_format:
        formats += f" (drafter {i.drafter_format.name})"
    flags = [
        f"{i.seats} seats",
        drafting,
        f"{formats} KV",
        f"prefix cache {'on' if i.prefix_cache else 'off'}",
        f"{'asynchronous' if i.async_scheduling else 'synchronous'} scheduling",
    ]
    if i.kv_groups == "stock":
        flags.append("stock groups")
    return f"{name}: " + ", ".join(flags)


def _groups(plan: Plan) -> str:
    kinds: dict[str, list[str]] = {}
    for g in plan.groups:
        size = f"{g.layers}+{g.padding}" if g.padding else str(g.layers)
        kinds.setdefault(g.spec.kind, []).append(size)
    text = ", ".join(f"{len(sizes)} {kind} ({_runs(sizes)})" for kind, sizes in kinds.items())
    text += " layers + unused slots"
    if plan.window_block is not None and plan.window_block != plan.block_size:
        text += f"; {WINDOW} blocks of {plan.window_block} tokens"
    return text


def _runs(sizes: list[str]) -> str:
    return " ".join(
        f"{sizes.count(s)}x{s}" if sizes.count(s) > 1 else s for s in dict.fromkeys(sizes)
    )


def _seats(plan: Plan) -> list[str]:
    lengths = [f"{n:,}" for n in plan.seats_by_context]
    counts = [str(seats) for seats in plan.seats_by_context.values()]
    widths = [max(len(a), len(b)) for a, b in zip(lengths, counts, strict=True)]
    return [
        "  " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in (lengths, counts)
    ]


def _items(items: list[Item]) -> list[str]:
    lines = []
    for item in items:
        mark = "~" if item.estimated else " "
        size = "unknown" if item.size is None else f"{item.size / GIB:.2f} GiB"
        lines.append(f"  {item.name:<13}{mark}{size:>10}  {item.note}")
    return lines
