"""Median, spread and percentiles of a few measurements."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Summary:
    """Of n values: median, extremes, mean, 95th percentile, and the coefficient of variation.

    ``cv`` is the sample standard deviation over the mean; None for one value or a mean of 0.
    """

    n: int
    median: float
    min: float
    max: float
    mean: float
    p95: float
    cv: float | None

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the fields, for JSON."""
        return asdict(self)


def summarise(values: Sequence[float]) -> Summary | None:
    """Return the summary of ``values``, or None of nothing: a missing number is never a zero."""
    if not values:
        return None
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) / abs(mean) if len(values) > 1 and mean else None
    return Summary(
        n=len(values),
        median=statistics.median(values),
        min=min(values),
        max=max(values),
        mean=min(max(mean, min(values)), max(values)),
        p95=percentile(values, 0.95),
        cv=spread,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the percentile, linear between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    between = ordered[low] + (ordered[high] - ordered[low]) * (place - low)
    return min(max(between, ordered[low]), ordered[high])
