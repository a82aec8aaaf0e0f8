"""The one thing the demo model decides: a tool call is due when tools are offered.

In the first full-attention layer one head looks for ``<tool_call>``, which a prompt holds only
when tools are described in it, and for ``<tool_response>``, which outweighs it. Its value marks
the residual stream as "due"; one unit of that layer's MLP turns the mark, at the blank line
that ends the thinking, into a pointer to ``<tool_call>``.
"""

import numpy as np

from qwen3090.demo import fill, story
from qwen3090.demo.dims import Dims
from qwen3090.demo.fill import Array
from qwen3090.demo.inventory import BODY

LAYER = 3  # the first full-attention layer
_PLAIN = 64  # head dimensions from here on are not rotated by position


def edit(name: str, value: Array, dims: Dims, told: story.Story) -> Array:
    """Return ``value``, with the detector written into it when ``name`` is one of its linears.

    Args:
        name: a linear's full name, without ``.weight``.
        value: float32 [rows, cols] as it would be without the detector.
        dims: sizes.
        told: the story, which knows the direction of ``<tool_call>``.
    """
    prefix = f"{BODY}layers.{LAYER}."
    part = name.removeprefix(prefix)
    if part == name:
        return value
    axes = fill.directions(dims.hidden) / np.float32(dims.hidden**0.5)  # of unit length
    constant, called, answered = (axes[i] for i in (story.CONSTANT, story.CALLED, story.ANSWERED))
    blank, due = axes[story.BLANK], axes[story.DUE]
    same, other = _head_patterns(dims)
    value = value.copy()
    if part == "self_attn.q_proj":  # head 0: query, then output gate
        value[: dims.head_dim] = np.outer(same, constant)
        value[dims.head_dim] = 2 * constant  # gate of the one value used: open
    elif part == "self_attn.k_proj":  # scores: nothing 0, <tool_call> 11, <tool_response> 16
        marks = np.outer(same, 8 * answered + 4 * called)
        value[: dims.head_dim] = marks + np.outer(other, 2 * constant + 3 * called)
    elif part == "self_attn.v_proj":
        value[0] = called / 16
    elif part == "self_attn.o_proj":
        value[:, 0] = 1.5 * 16 * due
    elif part == "mlp.gate_proj":  # open when due and blank are both there
        value[0] = 2 * (due + blank - 2.25 * constant)
    elif part == "mlp.up_proj":
        value[0] = constant
    elif part == "mlp.down_proj":
        call = told.tokens[len(told.tokens) - len(story.CALL)]
        value[:, 0] = 0.08 * 16 * axes[told.direction(call)]
    return value


def _head_patterns(dims: Dims) -> tuple[Array, Array]:
    """Return two orthogonal patterns, float32 [head_dim], zero where positions rotate."""
    same = np.ones(dims.head_dim, dtype=np.float32)
    same[:_PLAIN] = 0.0
    other = same.copy()
    other[_PLAIN + 1 :: 2] = -1.0
    return same, other
