"""Weights of the demo's DFlash2 drafter: built, not trained, so that its drafts are accepted.

A block is the last token and seven masks. In each layer the MLP's convolution shifts what the
row above knows by one row, and the MLP turns a pointer to one token into a pointer to its
successor; five layers thus fill five rows. The selector's codebooks hold the same successors.
"""

import numpy as np

from qwen3090.demo import fill, story
from qwen3090.demo.dims import Dims
from qwen3090.demo.drafter_inventory import drafter_linears, drafter_plain
from qwen3090.demo.fill import Array

FIRST_GAIN, LATER_GAIN = 0.4, 0.12  # size of a shifted pointer in layer 0 and later
_EDGE = 64.0  # strength of a right edge between two candidates


def tensors(dims: Dims, told: story.Story) -> dict[str, Array]:
    """Return the float32 value of every tensor of the bf16 form, by name."""
    shapes = {name: spec.shape for name, spec in drafter_plain(dims).items()}
    shapes |= {f"{name}.weight": size for name, size in drafter_linears(dims).items()}
    found = {name: _value(f"drafter.{name}", name, shape) for name, shape in shapes.items()}
    for index in range(dims.draft_layers):
        found |= _successor_mlp(dims, told, index)
    return found | _selector(dims, told)


def _value(seed: str, name: str, shape: tuple[int, ...]) -> Array:
    if name.endswith("base_kernel"):  # [side, tap, hidden]: pass rows through
        kernel = np.zeros(shape, dtype=np.float32)
        kernel[:, 0] = 1.0
        if "mlp_conv" in name:  # side 0, before the MLP: take the row above
            kernel[0, :2] = kernel[0, 1::-1]
        return kernel
    if len(shape) == 1:
        return 1.0 + fill.noise(seed, shape, 0.02)
    if "kernel_projection" in name:
        return fill.linear(seed, shape, 0.01)
    return fill.linear(seed, shape, 0.02 if "o_proj" in name else 1.0)


def _successor_mlp(dims: Dims, told: story.Story, layer: int) -> dict[str, Array]:
    """Return the MLP of ``layer``: a unit per token of the story, open for every row."""
    axes, count = fill.directions(dims.hidden), len(told.tokens)
    read = axes[story.RESERVED : story.RESERVED + count]
    after = [told.tokens.index(int(told.successor[token])) for token in told.tokens]
    write = read if layer == 0 else read[np.array(after)]
    gain = FIRST_GAIN if layer == 0 else LATER_GAIN
    size = (dims.intermediate, dims.hidden)
    prefix = f"layers.{layer}.mlp."
    gate = fill.noise(f"drafter.{prefix}gate", size, 0.001)
    up = fill.noise(f"drafter.{prefix}up", size, 0.001)
    down = fill.noise(f"drafter.{prefix}down", size[::-1], 0.001)
    gate[:count] += axes[story.CONSTANT] / 16
    up[:count] += read / 16
    down[:, :count] += gain * write.T / 16
    return {
        f"{prefix}gate_proj.weight": gate,
        f"{prefix}up_proj.weight": up,
        f"{prefix}down_proj.weight": down,
    }


def _selector(dims: Dims, told: story.Story) -> dict[str, Array]:
    """Return codebooks in which a token's successor has the predecessor's code.

    The projection of the hidden state reads the constant direction, which every row has.
    """
    rank, prefix = dims.selector_rank, "candidate_selector."
    code = np.sign(fill.noise("drafter.code", (dims.vocab, rank), 1.0) + 1e-6)
    project = fill.noise("drafter.project", (rank, dims.hidden), 0.002)
    project += fill.directions(dims.hidden)[story.CONSTANT] * np.float32(_EDGE / dims.hidden / rank)
    return {
        f"{prefix}successor_codebook": code.astype(np.float32),
        f"{prefix}predecessor_codebook": code[told.successor].astype(np.float32),
        f"{prefix}hidden_projection.weight": project.astype(np.float32),
    }
