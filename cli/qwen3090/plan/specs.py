"""One KV-cache spec a layer, as vLLM 0.28.0 builds them, without torch or vLLM.

Mirrors ``Platform._align_hybrid_block_size`` (platforms/interface.py),
``Attention.get_kv_cache_spec`` (layers/attention/attention.py) and
``MambaBase.get_kv_cache_spec`` (layers/mamba/abstract.py).
"""

from dataclasses import dataclass, replace

from qwen3090.errors import UserError
from qwen3090.plan.formats import CPU_BLOCK, KERNEL_BLOCK, KVARN, KVARN_TILE, KVFormat
from qwen3090.plan.geometry import Geometry
from qwen3090.plan.inputs import STATE_BYTES, PlanInput

ATTENTION = "attention"
RECURRENT = "recurrent"
WINDOW = "window"


@dataclass(frozen=True)
class LayerSpec:
    """The cache of one layer; layers with equal specs may share a group.

    Attributes:
        kind: ATTENTION (every token), WINDOW (the last ``window`` tokens) or RECURRENT.
        block: tokens of a block.
        token_bytes: bytes of a token in one layer; 0 for a recurrent state.
        state_bytes: bytes of a recurrent state; 0 otherwise.
        window: tokens of the sliding window; 0 without one.
        layout: heads, head width, format and backend: layers that differ cannot share a group.
        can_pad: whether the backend reads pages by a stride, so that a page may be padded.
        padded: bytes of the page when it is padded, else None.
        fixed_block: the block must stay as it is (KVarN's window layers).
    """

    kind: str
    block: int
    token_bytes: int = 0
    state_bytes: int = 0
    window: int = 0
    layout: tuple[int, int, str, str] = (0, 0, "", "")
    can_pad: bool = True
    padded: int | None = None
    fixed_block: bool = False

    @property
    def content(self) -> int:
        """Bytes of a page that hold data."""
        return self.state_bytes if self.kind == RECURRENT else self.block * self.token_bytes

    @property
    def page(self) -> int:
        """Bytes of a page, padding included."""
        return self.content if self.padded is None else self.padded


@dataclass(frozen=True)
class Layers:
    """Every layer's spec in the engine's order, and the aligned block they came from."""

    specs: tuple[LayerSpec, ...]
    state_bytes: int
    target_block: int


def ceil_div(a: int, b: int) -> int:
    """Return a / b rounded up."""
    return -(-a // b)


def build_layers(inputs: PlanInput, geometry: Geometry) -> Layers:
    """Return the spec of every layer of target and drafter.

    Raises:
        UserError: the speculation needs a drafter or an MTP layer that the checkpoint lacks.
    """
    fmt = inputs.target_format
    token = fmt.token_bytes(geometry.kv_heads, geometry.head_dim)
    state = geometry.state_bytes(inputs.k, STATE_BYTES[inputs.state_dtype])
    step = max(
        KVARN_TILE if fmt.name == KVARN else KERNEL_BLOCK,
        CPU_BLOCK if inputs.device == "cpu" else KERNEL_BLOCK,
    )
    block = max(step, step * ceil_div(state, step * token))
    # The state page is padded to the attention page (mamba_page_size_padded).
    page = block * token
    recurrent = LayerSpec(
        RECURRENT,
        # mamba_block_size: the attention block in align mode, else the longest request.
        block=block if inputs.prefix_cache else inputs.context,
        state_bytes=state,
        padded=page if page != state else None,
    )
    attention = _attention(block, token, geometry.kv_heads, geometry.head_dim, fmt, inputs)
    # Order of appearance decides the order of the groups: layer 0 is a recurrent one.
    specs = [recurrent] * geometry.recurrent_layers + [attention] * geometry.attention_layers
    specs += _drafter_layers(inputs, geometry, block, attention)
    return Layers(tuple(specs), state, block)


def _attention(
    block: int, token: int, heads: int, dim: int, fmt: KVFormat, inputs: PlanInput
) -> LayerSpec:
    return LayerSpec(
        ATTENTION,
        block=block,
        token_bytes=token,
        layout=(heads, dim, fmt.name, inputs.target_backend),
        can_pad=inputs.device != "cpu",
    )


def _drafter_layers(
    inputs: PlanInput, geometry: Geometry, block: int, attention: LayerSpec
) -> list[LayerSpec]:
    if inputs.speculation == "none":
        return []
    fmt = inputs.drafter_format
    if inputs.speculation == "mtp":
        if geometry.mtp_layers < 1:
            raise UserError(
                f"speculation is 'mtp', but the checkpoint has no MTP layer ({geometry.source})",
                "set speculation to none or dflash2",
            )
        if fmt == inputs.target_format:
            return [attention] * geometry.mtp_layers
        heads, dim = geometry.kv_heads, geometry.head_dim
        layout = (heads, dim, fmt.name, inputs.draft_backend)
        own = replace(attention, token_bytes=fmt.token_bytes(heads, dim), layout=layout)
        return [own] * geometry.mtp_layers
    drafter = geometry.drafter
    if drafter is None:
        raise UserError(
            f"speculation is 'dflash2', but no drafter was given ({geometry.source})",
            "name its folder (--drafter DIR), or set speculation to mtp or none",
        )
    token = fmt.token_bytes(drafter.kv_heads, drafter.head_dim)
    full = LayerSpec(
        ATTENTION,
        block=block,
        token_bytes=token,
        layout=(drafter.kv_heads, drafter.head_dim, fmt.name, inputs.draft_backend),
        can_pad=inputs.device != "cpu",
    )
    kvarn = inputs.target_format.name == KVARN
    return [
        full
        if window is None
        else replace(
            full,
            kind=WINDOW,
            block=KVARN_TILE if kvarn else KERNEL_BLOCK,
            window=window,
            fixed_block=kvarn,
        )
        for window in drafter.windows
    ]
