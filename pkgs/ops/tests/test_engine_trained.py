"""Prepare must not hurt a model that means something: acceptance and text of a trained checkpoint.

QWEN3090_TINY_TRAINED names a small trained bf16 checkpoint of the architecture, with an MTP layer
and a byte-level BPE tokenizer (early ids are the frequent ones); without it the tests are skipped.
"""

import argparse
import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MTP = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 3}}


@pytest.fixture(scope="module")
def results(
    prepare: Callable[..., Path],
    engine: Callable[..., dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    if not (folder := os.environ.get("QWEN3090_TINY_TRAINED")):
        pytest.skip("QWEN3090_TINY_TRAINED is not set")
    tokenizers = pytest.importorskip("tokenizers")
    base = Path(folder)
    ids_file = tmp_path_factory.mktemp("ids") / "mtp_draft_vocab_ids.pt"
    vocab = json.loads((base / "config.json").read_text())["vocab_size"]
    torch.save(torch.arange(vocab // 2), ids_file)
    tokenizer = tokenizers.Tokenizer.from_file(str(base / "tokenizer.json"))
    ids = tokenizer.encode(inspect.getsource(argparse)).ids
    prompts = [ids[start : start + 80] for start in range(0, 4800, 400)]
    sampled = {"temperature": 0.8, "top_p": 0.95, "seed": 1, "max_tokens": 48}
    requests = {
        "greedy": {"temperature": 0, "max_tokens": 12, "logprobs": 1},
        "sampled": sampled,
    }
    asked = [{"name": n, "prompts": prompts, "params": p} for n, p in requests.items()]
    models = {f"int{b}": prepare(base, bits=b, draft_vocab=ids_file) for b in (8, 4)}
    cases = [
        {"name": name, "model": str(model), "llm": MTP, "requests": asked}
        for name, model in {"bf16": base, **models}.items()
    ]
    return engine(cases)


@pytest.mark.parametrize(("name", "kept"), [("int8", 0.8), ("int4", 0.65)])
def test_acceptance_does_not_collapse(results: dict[str, Any], name: str, kept: float) -> None:
    assert "error" not in results[name], results[name]["error"]
    ours, base = results[name], results["bf16"]
    assert base["accepted"] / base["drafted"] > 0.3
    assert ours["accepted"] / ours["drafted"] > kept * base["accepted"] / base["drafted"]
    assert ours["facts"]["draft_vocab"]


@pytest.mark.parametrize(("name", "most"), [("int8", 0.12), ("int4", 0.8)])
def test_the_first_token_stays_as_likely(results: dict[str, Any], name: str, most: float) -> None:
    """Compare log probabilities where both say the same; int8 must say the same nearly always."""
    pairs = zip(
        results["bf16"]["greedy"]["tokens"],
        results["bf16"]["greedy"]["logprobs"],
        results[name]["greedy"]["tokens"],
        results[name]["greedy"]["logprobs"],
        strict=True,
    )
    gaps = [abs(a[0] - b[0]) for t, a, u, b in pairs if t[0] == u[0]]
    assert len(gaps) >= (10 if name == "int8" else 8)
    assert sum(gaps) / len(gaps) < most
