"""What checks/gpu/quality.py and residues.py measure with is right: data, rows, divergence."""

import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

sys.path.append(str(Path(__file__).resolve().parents[3] / "checks" / "gpu"))
pytest.importorskip("vllm")
import kv_samples
from compare_logits import divergence
from forced_logits import Watch
from kv_samples import DIM, HEADS, KINDS, KV_HEADS, SCALE, TOKENS
from quality import judged
from qwen3090_ops.attention import reference

LENGTH = 300


def test_importing_them_leaves_the_environment_alone() -> None:
    """Other tests of this process start vLLM's V1 runner."""
    assert "VLLM_USE_V2_MODEL_RUNNER" not in os.environ


@pytest.mark.parametrize("kind", KINDS)
def test_exact_attention_is_that_of_the_reference(kind: str) -> None:
    data = kv_samples.sample(kind, LENGTH, "cpu")
    assert data.q.shape == (TOKENS, HEADS, DIM)
    assert data.key.shape == data.value.shape == (LENGTH, KV_HEADS, DIM)
    table = torch.zeros(1, 1, dtype=torch.int32)
    lengths, starts = torch.tensor([LENGTH]), torch.tensor([0, TOKENS])
    cache = data.key[None], data.value[None]
    expected = reference.attend(data.q, *cache, table, lengths, starts, SCALE)
    found = kv_samples.exact(data.q, data.key, data.value)
    assert kv_samples.error(found, expected).worst < 1e-4


def heaviest(kind: str) -> torch.Tensor:
    """Return the largest weight of each query head's first token, [24]."""
    data = kv_samples.sample(kind, 4096, "cpu")
    keys = data.key.repeat_interleave(HEADS // KV_HEADS, 1)
    return (torch.einsum("hd,shd->hs", data.q[0], keys) * SCALE).softmax(-1).max(-1).values


def test_only_peaked_queries_look_for_one_token() -> None:
    assert heaviest("outliers").max() < 0.05
    assert heaviest("peaked").median() > 0.5


def test_keys_have_outlying_channels() -> None:
    def largest(kind: str) -> float:
        channels = kv_samples.sample(kind, LENGTH, "cpu").key.square().mean(0).sqrt()
        return float((channels.max(-1).values / channels.median(-1).values).mean())

    assert largest("normal") < 2 < 8 < largest("outliers")


def test_errors_are_relative_to_what_is_right() -> None:
    right = torch.ones(TOKENS, HEADS, DIM)
    found = right.clone()
    found[0, 0] = 1.5
    error = kv_samples.error(found, right)
    assert error.worst == error.most == 0.5
    assert error.relative == pytest.approx(0.5 / math.sqrt(TOKENS * HEADS))
    assert error.least == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("ours", "vllm", "adds", "stock", "apart", "good", "words"),
    [
        (0.010, 0.010, 0.002, 0.003, 0.003, True, ""),
        # int4 at 245,760 tokens on a GPU: ours is right over what the cache holds, vLLM's is not
        (0.201, 0.268, 0.003, 0.330, 0.330, True, "vLLM's own error"),
        (0.010, 0.010, 0.015, 0.015, 0.029, False, "ours from vLLM's"),
        (0.201, 0.268, 0.021, 0.330, 0.330, False, "what ours adds"),
        (0.010, 0.010, math.nan, 0.003, math.nan, False, "what ours adds"),
        (0.010, 0.010, 0.002, 0.003, math.nan, False, "ours from vLLM's"),
        # ours and the reading of the cache share a mistake
        (1.400, 0.151, 0.003, 1.400, 1.400, False, "is the cache read as it is"),
    ],
)
def test_a_difference_from_vllms_counts_where_vllms_is_right(
    ours: float, vllm: float, adds: float, stock: float, apart: float, good: bool, words: str
) -> None:
    found, said = judged(ours, vllm, adds, stock, apart)
    assert found is good
    assert words in said and bool(said) is bool(words)


def test_divergence_is_kullbacks() -> None:
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.5, 0.25])
    logits = [(x + 1e-30).log().expand(70, 3) + 3 for x in (p, q)]
    assert divergence(*logits) == pytest.approx(0.5 * math.log(2), abs=1e-6)
    assert divergence(logits[0], logits[0]).abs().max() == 0


def test_the_watch_keeps_the_prompts_rows_in_order() -> None:
    """Prompt rows come in chunks, among them single rows of sampled tokens and those of a step."""
    vocab, length = 50, 40
    table = torch.randn(length, vocab, generator=torch.Generator().manual_seed(1))
    ids = torch.randint(0, vocab, (length,), generator=torch.Generator().manual_seed(2)).tolist()
    model: Any = SimpleNamespace(compute_logits=lambda hidden: table[hidden[:, 0].long()])
    plain = model.compute_logits
    watch = Watch(model, ids, rows=10)
    with watch.on():
        for chunk in (range(16), range(15, 16), range(16, 32), range(32, length), range(5)):
            model.compute_logits(torch.tensor(list(chunk))[:, None])
    assert model.compute_logits is plain
    assert watch.at == length - 1
    found, right = watch.found(), table[:-1].log_softmax(-1)
    assert torch.equal(found["best"], table[:-1].argmax(-1))
    assert torch.allclose(found["chosen"], right.gather(1, torch.tensor(ids[1:])[:, None])[:, 0])
    assert torch.equal(found["logits"], table[: length - 1 : found["every"]].to(torch.bfloat16))
