"""Says which linear layers quantize their activations to int8 (Marlin W4A8); patch 0232 asks.

vLLM's own switch, VLLM_MARLIN_INPUT_DTYPE, takes every layer. The choice here leaves out what must
stay exact: the head, the embedding, and everything that drafts, whose errors cost accepted tokens.
"""

import re
from typing import Any

from qwen3090_ops.knobs import choice, knobs

KNOB = "int8_activations"
# Value of the knob -> what a decoder layer's linear must match to be taken.
INCLUDED = {"none": r"(?!)", "mlp": r"\.mlp\.", "all": r""}
NEVER = r"(?:^|\.)(?:lm_head|draft_lm_head|embed_tokens|mtp)(?:\.|$)"
_DECODER_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


def is_chosen(additional_config: Any) -> bool:
    """Return whether the knob is set at all; without it vLLM's own switch counts."""
    return KNOB in knobs(additional_config)


def takes_int8(prefix: str, additional_config: Any, target_layers: int) -> bool:
    """Return whether a linear layer quantizes its activations.

    Args:
        prefix: the layer's name in vLLM, such as ``model.layers.3.mlp.gate_up_proj``.
        additional_config: ``{"qwen3090": {"int8_activations": "none" | "mlp" | "all"}}``.
        target_layers: decoder layers of the target; a drafter's are numbered from there on.

    Raises:
        ValueError: the knob has another value.
    """
    wanted = choice(additional_config, KNOB, INCLUDED, "none")
    layer = _DECODER_LAYER.search(prefix)
    if layer is None or int(layer[1]) >= target_layers or re.search(NEVER, prefix):
        return False
    return re.search(INCLUDED[wanted], prefix) is not None
