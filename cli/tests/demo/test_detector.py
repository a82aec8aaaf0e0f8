"""The made int4 weights decide for a tool call exactly when tools are offered and unanswered."""

from typing import Any

import numpy as np
import pytest
from qwen3090.demo import TinyPaths, fill, story
from qwen3090.demo.client import WEATHER
from qwen3090.demo.detector import LAYER
from qwen3090.demo.dims import TINY
from qwen3090.demo.inventory import BODY
from tokenizers import Tokenizer

USER = {"role": "user", "content": "What is the weather like in Paris?"}
CALL = {"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
ANSWERED = [
    USER,
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": "rain"},
]


def next_logits(reference: Any, tiny: TinyPaths, text: str) -> Any:
    """Return the logits after ``text`` by the detector's layer alone.

    What the three layers before it add is stood in for by noise of three times its size.
    """
    Weights, rms, silu = reference.Weights, reference.rms, reference.silu
    layer, every = Weights(tiny.base, f"{BODY}layers.{LAYER}."), Weights(tiny.base)
    ids = Tokenizer.from_file(str(tiny.base / "tokenizer.json")).encode(text).ids
    rows = every[f"{BODY}embed_tokens"][ids]
    rows = rows + fill.off_axes("test", TINY.hidden, len(ids), 0.6, story.RESERVED).T
    normed = rms(rows) * (1 + layer["input_layernorm"])
    dim = TINY.head_dim
    query = (normed[-1] @ layer["self_attn.q_proj"].T).reshape(TINY.heads, 2, dim)
    key = (normed @ layer["self_attn.k_proj"].T).reshape(-1, TINY.kv_heads, dim)
    value = (normed @ layer["self_attn.v_proj"].T).reshape(-1, TINY.kv_heads, dim)
    key = rms(key) * (1 + layer["self_attn.k_norm"])
    out = []
    for head in range(TINY.heads):
        asked = rms(query[head, 0]) * (1 + layer["self_attn.q_norm"])
        scores = key[:, head // 2] @ asked / dim**0.5
        share = np.exp(scores - scores.max())
        mixed = share @ value[:, head // 2] / share.sum()
        out.append(mixed / (1 + np.exp(-query[head, 1])))
    last = rows[-1] + np.concatenate(out) @ layer["self_attn.o_proj"].T
    normed = rms(last) * (1 + layer["post_attention_layernorm"])
    inner = silu(normed @ layer["mlp.gate_proj"].T) * (normed @ layer["mlp.up_proj"].T)
    last = last + inner @ layer["mlp.down_proj"].T
    return rms(last) * (1 + every[f"{BODY}norm"]) @ every["lm_head"].T


@pytest.mark.parametrize(
    ("messages", "tools", "wanted"),
    [
        ([USER], [WEATHER], "<tool_call>"),
        ([{"role": "user", "content": "word " * 1200}], [WEATHER], "<tool_call>"),
        ([USER], None, "Hello"),
        ([{"role": "user", "content": "What next? " * 400}], None, "Hello"),
        (ANSWERED, [WEATHER], "Hello"),
    ],
)
def test_next_token_after_the_thinking(
    reference: Any, tiny: TinyPaths, messages: list[dict[str, Any]], tools: Any, wanted: str
) -> None:
    options = {"add_generation_prompt": True, "enable_thinking": False}
    text = reference.render(messages, tools=tools, **options)
    logits = next_logits(reference, tiny, text)
    best, second = np.argsort(-logits)[:2]
    name = Tokenizer.from_file(str(tiny.base / "tokenizer.json")).id_to_token(int(best))
    assert name == wanted
    assert logits[best] - logits[second] > 5  # far from a tie
