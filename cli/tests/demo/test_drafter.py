"""Both drafters propose what the model says next: five of seven tokens of every block."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwen3090.demo import TinyPaths, story
from qwen3090.demo.dims import TINY
from qwen3090.demo.inventory import BODY
from qwen3090.demo.tokenizer import special_id, train

BLOCK = 7


def propose(reference: Any, drafter: Any, table: Any, head: Any, anchor: int) -> list[int]:
    """Return the block after ``anchor`` by the MLPs and the selector (attention left out)."""
    rms, silu = reference.rms, reference.silu
    mask = special_id(TINY, "<|audio_start|>")
    rows = table[[anchor] + [mask] * BLOCK]
    for layer in range(TINY.draft_layers):
        normed = rms(rows) * drafter[f"layers.{layer}.post_attention_layernorm"]
        kernel = drafter[f"layers.{layer}.mlp_conv.base_kernel"]
        above = np.concatenate([np.zeros_like(normed[:1]), normed[:-1]])
        mixed = kernel[0, 0] * normed + kernel[0, 1] * above
        prefix = f"layers.{layer}.mlp."
        inner = silu(mixed @ drafter[f"{prefix}gate_proj"].T) * (
            mixed @ drafter[f"{prefix}up_proj"].T
        )
        out = inner @ drafter[f"{prefix}down_proj"].T
        above = np.concatenate([np.zeros_like(out[:1]), out[:-1]])
        rows = rows + kernel[1, 0] * out + kernel[1, 1] * above
    hidden = (rms(rows) * drafter["norm"])[1:]
    logits = hidden @ head.T
    projected = hidden @ drafter["candidate_selector.hidden_projection"].T
    before = drafter["candidate_selector.predecessor_codebook"]
    after = drafter["candidate_selector.successor_codebook"]
    said, previous = [], anchor
    for row in range(BLOCK):
        best = np.argsort(-logits[row])[: TINY.selector_top_k]
        scores = logits[row, best] + after[best] @ (before[previous] * projected[row])
        previous = int(best[scores.argmax()])
        said.append(previous)
    return said


@pytest.mark.parametrize("form", ["drafter", "drafter_bf16"])
def test_five_drafts_of_every_block_are_right(reference: Any, tiny: TinyPaths, form: str) -> None:
    directory: Path = getattr(tiny, form)
    drafter, base = reference.Weights(directory), reference.Weights(tiny.base)
    table, head = base[f"{BODY}embed_tokens"], base["lm_head"]
    told = story.build(TINY, train(TINY))
    for anchor in told.tokens:
        wanted, token = [], anchor
        for _ in range(BLOCK):
            token = int(told.successor[token])
            wanted.append(token)
        found = propose(reference, drafter, table, head, anchor)
        assert found[:5] == wanted[:5], anchor
