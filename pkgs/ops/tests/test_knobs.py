"""Our table of vLLM's additional_config: a wrong value is refused by name, an absent one is not."""

from typing import Any

import pytest
from qwen3090_ops import knobs


@pytest.mark.parametrize("config", [{}, {"qwen3090": {}}, {"other": {"n": 7}}, object(), None])
def test_without_our_table_the_defaults_count(config: Any) -> None:
    assert knobs.knobs(config) == {}
    assert knobs.choice(config, "kind", ("a", "b"), "b") == "b"
    assert knobs.count(config, "n", 3) == 3


def test_given_values_are_returned() -> None:
    config = {"qwen3090": {"kind": "a", "n": 0}}
    assert knobs.choice(config, "kind", ("a", "b"), "b") == "a"
    assert knobs.count(config, "n", 3) == 0


@pytest.mark.parametrize("table", [3, "mlp", [], None])
def test_a_table_that_is_none_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match="'qwen3090' must be a table"):
        knobs.knobs({"qwen3090": table})


@pytest.mark.parametrize("value", ["c", "", 1, None, True])
def test_a_word_that_is_not_allowed_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"qwen3090\.kind.*one of a, b"):
        knobs.choice({"qwen3090": {"kind": value}}, "kind", ("a", "b"), "b")


@pytest.mark.parametrize("value", [-1, 1.5, "7", True, None])
def test_a_number_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"qwen3090\.n.*whole number"):
        knobs.count({"qwen3090": {"n": value}}, "n")
