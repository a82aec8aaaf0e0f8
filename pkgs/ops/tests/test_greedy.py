"""Greedy text with drafts equals greedy text without, up to near-ties; and the judge of near-ties.

Drafts are MTP's, or n-grams: of those there are none in many steps, after steps that accepted some.

QWEN3090_TINY_TRAINED names the trained checkpoint whose text depends on its context; with the demo
checkpoint, whose winners lead by far, `test_engine_dflash2.py` asks for equality without ties.
"""

import inspect
import json
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
from greedy import TOLERANCE, compare, summary

PROMPTS, TOKENS = 12, 64


@pytest.mark.parametrize(
    ("ours", "theirs", "our_rows", "their_rows", "verdict"),
    [
        ([1, 2], [1, 2], [{}, {}], [{}, {}], ("equal", 2, 0.0)),
        ([1, 2], [1, 3], [{}, {2: -1.0, 3: -1.1}], [{}, {3: -1.0, 2: -1.0}], ("tie", 1, 0.1)),
        ([1], [3], [{1: -0.1, 3: -2.0}], [{1: -1.0, 3: -1.0}], ("different", 0, 1.9)),
        ([1], [3], [{1: -0.1}], [{1: -1.0, 3: -1.0}], ("different", 0, float("inf"))),
        ([1], [1, 3], [{}], [{}, {}], ("different", 1, float("inf"))),
    ],
)
def test_only_a_small_gap_is_a_tie(
    ours: list[int], theirs: list[int], our_rows: Any, their_rows: Any, verdict: Any
) -> None:
    found = compare(ours, theirs, our_rows, their_rows)
    assert (found.kind, found.at) == verdict[:2]
    assert found.gap == pytest.approx(verdict[2])


@pytest.fixture(scope="module")
def results(engine: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    if not (folder := os.environ.get("QWEN3090_TINY_TRAINED")):
        pytest.skip("QWEN3090_TINY_TRAINED is not set")
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    ids = [
        i for module in (json, textwrap) for i in tokenizer.encode(inspect.getsource(module)).ids
    ]
    assert len(ids) > PROMPTS * 60
    prompts = [ids[start : start + 20 + 5 * i] for i, start in enumerate(range(0, len(ids), 60))]
    request = {
        "name": "greedy",
        "prompts": prompts[:PROMPTS],
        "params": {"temperature": 0, "max_tokens": TOKENS, "logprobs": 5},
    }
    speculation = {
        "plain": {},
        "mtp": {"speculative_config": {"method": "mtp", "num_speculative_tokens": 3}},
        "ngram": {
            "speculative_config": {
                "method": "ngram",
                "num_speculative_tokens": 3,
                "prompt_lookup_min": 1,
                "prompt_lookup_max": 2,
            }
        },
    }
    return engine(
        [
            {"name": name, "model": folder, "llm": llm, "requests": [request]}
            for name, llm in speculation.items()
        ]
    )


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("method", ["mtp", "ngram"])
def test_speculation_does_not_change_greedy_text(results: dict[str, Any], method: str) -> None:
    for found in results.values():
        assert "error" not in found, found["error"]
    assert results[method]["accepted"] > 100
    plain, drafted = (
        zip(found["greedy"]["tokens"], found["greedy"]["rows"], strict=True)
        for found in (results["plain"], results[method])
    )

    def rows(answer: Any) -> list[dict[int, float]]:
        return [{int(t): v for t, v in row.items()} for row in answer]

    verdicts = [
        compare(a, b, rows(x), rows(y)) for (a, x), (b, y) in zip(plain, drafted, strict=True)
    ]
    line = summary(verdicts)
    print(line)
    assert len(verdicts) == PROMPTS
    assert all(v.kind != "different" for v in verdicts), f"{line}; tolerance {TOLERANCE}"
    assert sum(v.kind == "equal" for v in verdicts) >= PROMPTS * 0.8, line
