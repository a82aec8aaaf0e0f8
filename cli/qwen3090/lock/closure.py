"""Walks the requirements of a resolution: which group needs which wheel, and what is left out."""

from collections.abc import Iterable

from packaging.requirements import Requirement

from qwen3090.lock.report import Report
from qwen3090.lock.wheelfile import normalise


def reachable(
    report: Report, roots: Iterable[str], excluded: Iterable[str] = ()
) -> dict[str, frozenset[str]]:
    """Return the projects that ``roots`` need, each with the extras asked of it.

    Markers are evaluated in the report's own environment. The walk does not enter ``excluded``
    projects, so what only they need is left out too.
    """
    stop = {normalise(name) for name in excluded}
    seen: dict[str, frozenset[str]] = {}
    queue = [Requirement(root) for root in roots]
    while queue:
        requirement = queue.pop()
        name = normalise(requirement.name)
        extras = frozenset(normalise(extra) for extra in requirement.extras)
        if name in stop or name not in report.projects:
            continue
        known = seen.get(name)
        if known is not None and extras <= known:
            continue
        seen[name] = extras | (known or frozenset())
        for text in report.projects[name].requires:
            needed = Requirement(text)
            if _applies(needed, report.environment, seen[name]):
                queue.append(needed)
    return seen


def _applies(requirement: Requirement, environment: dict[str, str], extras: frozenset[str]) -> bool:
    if requirement.marker is None:
        return True
    return any(
        requirement.marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras)
    )


def left_out(
    report: Report, roots: dict[str, tuple[str, ...]], excluded: dict[str, str]
) -> dict[str, str]:
    """Return what was resolved but is not locked, each with the reason."""
    every = [root for group in roots.values() for root in group]
    kept = reachable(report, every, excluded)
    gone = sorted(set(report.projects) - set(kept))
    needed_by: dict[str, list[str]] = {name: [] for name in gone}
    for name in gone:
        for text in report.projects[name].requires:
            needed = normalise(Requirement(text).name)
            if needed in needed_by and needed != name:
                needed_by[needed].append(name)
    return {
        name: excluded.get(name) or f"needed only by {', '.join(sorted(set(needed_by[name])))}"
        for name in gone
    }
