"""Median, extremes, percentiles and CV, against their definitions."""

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090.bench.statistics import percentile, summarise

values = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=50)


@settings(deadline=None)
@given(values)
def test_summary(found: list[float]) -> None:
    summary = summarise(found)
    assert summary is not None
    assert (summary.n, summary.min, summary.max) == (len(found), min(found), max(found))
    assert summary.median == statistics.median(found)
    assert summary.min <= summary.mean <= summary.max
    assert summary.min <= summary.p95 <= summary.max
    if len(found) == 1:
        assert summary.cv is None
    else:
        expected = statistics.stdev(found) / statistics.fmean(found)
        assert summary.cv == pytest.approx(expected)


@settings(deadline=None)
@given(values, st.floats(1.0, 1000.0))
def test_cv_does_not_depend_on_the_unit(found: list[float], factor: float) -> None:
    one, other = summarise(found), summarise([value * factor for value in found])
    assert one is not None and other is not None
    assert one.cv == pytest.approx(other.cv, abs=1e-9)


@settings(deadline=None)
@given(values, st.floats(0, 1))
def test_percentile_is_between_and_rises(found: list[float], share: float) -> None:
    here = percentile(found, share)
    assert min(found) <= here <= max(found)
    assert percentile(found, share / 2) <= here * (1 + 1e-12)


def test_percentile_is_linear_between_neighbours() -> None:
    assert percentile([10.0, 20.0, 30.0], 0.5) == 20.0
    assert percentile([10.0, 20.0], 0.95) == pytest.approx(19.5)


def test_nothing_has_no_summary() -> None:
    assert summarise([]) is None
