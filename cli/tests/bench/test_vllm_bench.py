"""What is taken from ``vllm bench serve``, and what is refused."""

from typing import Any

import pytest
from qwen3090.bench.problems import InvalidRun
from qwen3090.bench.vllm_bench import NO_COMMENTS, checked, samples


def result(**other: Any) -> dict[str, Any]:
    return {
        "completed": 2,
        "failed": 0,
        "errors": ["", ""],
        "ttfts": [0.5, 0.25],
        "itls": [[0.1, 0.1], []],
        "input_lens": [100, 200],
        "output_lens": [5, 1],
    } | other


def test_the_header_against_comments_is_the_servers() -> None:
    keepalive = pytest.importorskip("qwen3090_ops.api.keepalive")
    assert ("--header", f"{keepalive.HEADER.decode()}={keepalive.OFF.decode()}") == NO_COMMENTS


def test_samples() -> None:
    one, two = samples(checked(result(), 2))
    assert one["decode"] == pytest.approx(4 / 0.2)
    assert one["e2e"] == pytest.approx(0.7) and one["e2e_rate"] == pytest.approx(5 / 0.7)
    assert "decode" not in two and two["ttft"] == two["e2e"] == 0.25


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"failed": 1, "errors": ["", "Traceback\nValueError: no"]}, "1 of 2 requests: ValueError"),
        ({"failed": 1}, "1 of 2 requests: no reason given"),
        ({"errors": ["x", ""]}, "1 of 2 requests: x"),
        ({"completed": 1}, "1 of 2 requests were sent"),
        ({"output_lens": [5, 0]}, "without a token"),
        ({"ttfts": [0.5, 0.0]}, "without a token"),
    ],
)
def test_refused(other: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRun, match=reason):
        checked(result(**other), 2)
