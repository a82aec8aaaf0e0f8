"""Two runs side by side: refused when they do not compare; what got worse than tolerated."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qwen3090.bench.conditions import KINDS, UNKNOWN
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.quantities import QUANTITIES

TOLERANCE = 0.05


@dataclass(frozen=True)
class Change:
    """One quantity of one row in both runs.

    Attributes:
        suite: the suite.
        row: the row.
        key: the quantity's key.
        before: its median in the first run.
        after: its median in the second.
        noise: the larger coefficient of variation of the two, or None.
    """

    suite: str
    row: str
    key: str
    before: float
    after: float
    noise: float | None

    @property
    def gain(self) -> float:
        """Relative change, positive when it got better."""
        if not self.before:
            return 0.0 if self.after == self.before else QUANTITIES[self.key].better * 1.0
        return (self.after / self.before - 1) * QUANTITIES[self.key].better

    def verdict(self, tolerance: float) -> str:
        """Return "worse", "better" or "same", by the tolerance."""
        if self.gain < -tolerance:
            return "worse"
        return "better" if self.gain > tolerance else "same"


def check(
    first: Mapping[str, Any], second: Mapping[str, Any], allowed: Collection[str] = ()
) -> list[str]:
    """Return the kinds of condition that differ and were allowed to.

    Raises:
        InvalidRun: a kind differs that was not allowed to, or is unknown in one of the runs.
    """
    differ = [
        kind
        for kind in KINDS
        if first["fingerprint"].get(kind) != second["fingerprint"].get(kind)
        or UNKNOWN in (first["conditions"].get(kind), second["conditions"].get(kind))
    ]
    refused = [kind for kind in differ if kind not in allowed]
    if refused:
        details = "\n".join(
            f"- {kind}: {line}" for kind in refused for line in _differences(first, second, kind)
        )
        options = " ".join(f"--allow {kind}" for kind in refused)
        raise InvalidRun(f"the runs do not compare:\n{details}", f"if that is meant: {options}")
    return differ


def changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Change]:
    """Yield every quantity that both runs have and that has a better side."""
    others = {(s["suite"], r["name"]): r for s in second["suites"] for r in s["rows"]}
    for suite in first["suites"]:
        for row in suite["rows"]:
            other = others.get((suite["suite"], row["name"]))
            if other is None:
                continue
            for key in suite["shows"]:
                mine, its = row["summary"].get(key), other["summary"].get(key)
                if mine and its and QUANTITIES[key].better:
                    noise = max((s["cv"] for s in (mine, its) if s["cv"] is not None), default=None)
                    yield Change(
                        suite["suite"], row["name"], key, mine["median"], its["median"], noise
                    )


def lines(found: list[Change], tolerance: float) -> Iterator[str]:
    """Yield a table of all changes."""
    yield "| suite | what | quantity | before | after | change | noise (CV) | verdict |"
    yield "|---|---|---|---:|---:|---:|---:|---|"
    for item in found:
        digits = QUANTITIES[item.key].digits
        before, after = f"{item.before:,.{digits}f}", f"{item.after:,.{digits}f}"
        moved = f"{item.after / item.before - 1:+.1%}" if item.before else "–"
        noise = "–" if item.noise is None else f"{item.noise:.1%}"
        title, verdict = QUANTITIES[item.key].title, item.verdict(tolerance)
        yield (
            f"| {item.suite} | {item.row} | {title} | {before} | {after} | {moved} | {noise} "
            f"| {verdict} |"
        )


def _differences(first: Mapping[str, Any], second: Mapping[str, Any], kind: str) -> Iterator[str]:
    """Yield what differs in a kind of condition, in words."""
    mine, its = _described(first, kind), _described(second, kind)
    found = [
        f"{key}: {mine.get(key)} and {its.get(key)}"
        for key in dict.fromkeys([*mine, *its])
        if mine.get(key) != its.get(key)
    ]
    yield from found or [UNKNOWN]


def _described(run: Mapping[str, Any], kind: str) -> dict[str, Any]:
    if kind == "workload":
        fields = ("prompts", "warmups", "repeats")
        found = {f"{s['suite']} {f}": s[f] for s in run["suites"] for f in fields}
        found |= {f"{s['suite']} rows": [r["name"] for r in s["rows"]] for s in run["suites"]}
        return found | {key: run["conditions"][key] for key in ("sampling", "seed")}
    value = run["conditions"][kind]
    return dict(value) if isinstance(value, dict) else {kind: value}
