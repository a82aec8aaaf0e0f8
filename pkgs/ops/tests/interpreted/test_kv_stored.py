"""What checks/gpu/kv_stored.py reads back is what vLLM's kernels wrote, and both kernels agree."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[4] / "checks" / "gpu"))
from kv_samples import error, exact, sample
from kv_stored import Stored

LENGTH, PAGE = 20, 16


@pytest.mark.parametrize(("name", "step"), [("bf16", 0.0), ("int8", 1 / 127), ("int4", 2 / 15)])
def test_values_are_within_half_a_step(name: str, step: float) -> None:
    data = sample("outliers", LENGTH, "cpu")
    stored = Stored(data, name, PAGE, 4)
    for found, right in zip(stored.read(), (data.key, data.value), strict=True):
        away = (found - right.double()).norm(dim=-1)
        # an int8 step is the largest value / 127; rotated, a row's values are within 4 of its rms
        span = right.abs().amax(-1) * 16 if name == "int8" else right.norm(dim=-1) * 4
        assert (away <= 0.5 * step * span + 1e-6).all()


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_our_kernel_reads_what_the_cache_holds(name: str) -> None:
    data = sample("peaked", LENGTH, "cpu")
    stored = Stored(data, name, PAGE, 4)
    held = exact(data.q, *stored.read())
    assert error(stored.ours(), held).relative < 1e-3
    assert error(held, exact(data.q, data.key, data.value)).relative > 1e-3
