"""Weights of the demo's target model: a pointer to the next token, and small layers around it.

The embedding holds the pointer, the head reads it, and each layer adds a little that depends
on the context, so every projection, norm and state matters to the numbers but never to which
token wins.
"""

import numpy as np

from qwen3090.demo import fill, story
from qwen3090.demo.dims import Dims
from qwen3090.demo.fill import Array
from qwen3090.demo.inventory import Inventory
from qwen3090.demo.tokenizer import special_id

RESIDUAL = 0.1  # size of what a layer adds, relative to the pointer
NORM_NOISE = 0.05
_ADDS = ("o_proj", "out_proj", "down_proj")


def embedding(dims: Dims, told: story.Story, blank: int) -> Array:
    """Return the embedding table, float32 [vocab, hidden]; ``blank`` is the id of a blank line.

    A row is its successor's direction, half the constant direction and noise of its own. The
    mask token of the drafter has a direction that no token reads; three tokens have a mark.
    """
    axes = fill.directions(dims.hidden)
    targets = np.array([told.direction(int(token)) for token in told.successor])
    own = fill.off_axes("embedding", dims.hidden, dims.vocab, 0.3, story.RESERVED).T.copy()
    mask = special_id(dims, "<|audio_start|>")
    targets[mask], own[mask] = story.MASK, 0.0
    table: Array = axes[targets] + np.float32(0.5) * axes[story.CONSTANT] + own
    table[special_id(dims, "<tool_call>")] += axes[story.CALLED]
    table[special_id(dims, "<tool_response>")] += axes[story.ANSWERED]
    table[blank] += axes[story.BLANK]
    return table


def head(dims: Dims, told: story.Story) -> Array:
    """Return the head, float32 [vocab, hidden]: rows of unit length for tokens of the story."""
    axes = fill.directions(dims.hidden)
    table = fill.noise("head", (dims.vocab, dims.hidden), 0.004)
    scale = np.float32(dims.hidden**-0.5)
    table[list(told.tokens)] += axes[story.RESERVED : story.RESERVED + len(told.tokens)] * scale
    return table


def tensor(name: str, shape: tuple[int, ...]) -> Array:
    """Return the float32 value of a layer tensor of target, MTP module or vision tower."""
    module = name.removesuffix(".weight").rsplit(".", 1)[-1]
    if name.startswith("model.visual."):
        return _visual(name, shape)
    if name == "mtp.fc.weight":
        halves = fill.linear(name, shape, 0.1)
        halves[:, : shape[0]] += np.eye(shape[0], dtype=np.float32)
        return halves
    if module == "A_log":
        return 1.4 + fill.noise(name, shape, 0.7)
    if module == "dt_bias":
        return -4.0 + fill.noise(name, shape, 0.3)
    if module == "conv1d":
        return fill.noise(name, shape, 0.5)
    if name.endswith("linear_attn.norm.weight"):
        return 1.0 + fill.noise(name, shape, NORM_NOISE)
    if len(shape) == 1:  # zero-centred norms: the engine multiplies by 1 + weight
        return fill.noise(name, shape, NORM_NOISE)
    if module in _ADDS:
        rows, cols = shape
        return fill.off_axes(name, rows, cols, RESIDUAL / cols**0.5, story.RESERVED)
    return fill.linear(name, shape)


def _visual(name: str, shape: tuple[int, ...]) -> Array:
    if name.endswith(".bias"):
        return np.zeros(shape, dtype=np.float32)
    if len(shape) == 1:
        return np.ones(shape, dtype=np.float32)
    rows = int(np.prod(shape[1:]))
    return fill.noise(name, shape, rows**-0.5)


def plain(inventory: Inventory) -> dict[str, Array]:
    """Return values of every bf16 tensor of ``inventory`` by name."""
    found = ((name, spec) for name, spec in inventory.items() if spec.dtype == "BF16")
    return {name: tensor(name, spec.shape) for name, spec in found}
