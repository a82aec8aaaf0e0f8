"""Names, dtypes and shapes of every tensor in the published layout, as functions of the sizes.

The maker writes what stands here and the tests compare this list, at the published sizes,
with the published byte counts: a name or dtype that drifts fails there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from qwen3090.demo.dims import Dims

GROUP = 128
PATCH, TEMPORAL, MERGE = 16, 2, 2
BYTES = {"BF16": 2, "F16": 2, "I32": 4, "I64": 8}
BODY = "model.language_model."
VISUAL = "model.visual."


@dataclass(frozen=True)
class Spec:
    """One tensor: safetensors dtype name and shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Payload bytes."""
        return prod(self.shape) * BYTES[self.dtype]


Inventory = dict[str, Spec]


def payload(inventory: Inventory) -> int:
    """Return the payload bytes of all tensors."""
    return sum(spec.nbytes for spec in inventory.values())


def bf16(*shape: int) -> Spec:
    """Return a bf16 spec."""
    return Spec("BF16", shape)


def packed(name: str, rows: int, cols: int, bits: int, scale: str = "F16") -> Inventory:
    """Return the three tensors of a group-128 packed linear ``name`` of shape [rows, cols]."""
    return {
        f"{name}.weight_packed": Spec("I32", (rows, cols * bits // 32)),
        f"{name}.weight_scale": Spec(scale, (rows, cols // GROUP)),
        f"{name}.weight_shape": Spec("I64", (2,)),
    }


def attention_linears(dims: Dims) -> dict[str, tuple[int, int]]:
    """Return {name: (rows, cols)} of a gated attention layer with its MLP."""
    wide, narrow = dims.heads * dims.head_dim, dims.kv_heads * dims.head_dim
    return {
        "self_attn.q_proj": (2 * wide, dims.hidden),
        "self_attn.k_proj": (narrow, dims.hidden),
        "self_attn.v_proj": (narrow, dims.hidden),
        "self_attn.o_proj": (dims.hidden, wide),
        **mlp_linears(dims),
    }


def mlp_linears(dims: Dims) -> dict[str, tuple[int, int]]:
    """Return {name: (rows, cols)} of a gated MLP."""
    return {
        "mlp.gate_proj": (dims.intermediate, dims.hidden),
        "mlp.up_proj": (dims.intermediate, dims.hidden),
        "mlp.down_proj": (dims.hidden, dims.intermediate),
    }


def gdn_linears(dims: Dims) -> dict[str, tuple[int, int]]:
    """Return {name: (rows, cols)} of the quantized linears of a GDN layer with its MLP."""
    return {
        "linear_attn.in_proj_qkv": (dims.gdn_qkv, dims.hidden),
        "linear_attn.in_proj_z": (dims.gdn_value, dims.hidden),
        "linear_attn.out_proj": (dims.hidden, dims.gdn_value),
        **mlp_linears(dims),
    }


def layer_plain(dims: Dims, attention: bool) -> Inventory:
    """Return the tensors of a decoder layer that stay bf16."""
    plain = {
        "input_layernorm.weight": bf16(dims.hidden),
        "post_attention_layernorm.weight": bf16(dims.hidden),
    }
    if attention:
        plain["self_attn.q_norm.weight"] = bf16(dims.head_dim)
        plain["self_attn.k_norm.weight"] = bf16(dims.head_dim)
        return plain
    heads = dims.gdn_value_heads
    plain |= {
        "linear_attn.in_proj_a.weight": bf16(heads, dims.hidden),
        "linear_attn.in_proj_b.weight": bf16(heads, dims.hidden),
        "linear_attn.conv1d.weight": bf16(dims.gdn_qkv, 1, dims.conv_width),
        "linear_attn.A_log": bf16(heads),
        "linear_attn.dt_bias": bf16(heads),
        "linear_attn.norm.weight": bf16(dims.gdn_dim),
    }
    return plain


def layer(dims: Dims, index: int) -> Inventory:
    """Return the tensors of decoder layer ``index``, int4 linears included."""
    attention, prefix = dims.is_attention(index), f"{BODY}layers.{index}."
    linears = attention_linears(dims) if attention else gdn_linears(dims)
    found = {prefix + name: spec for name, spec in layer_plain(dims, attention).items()}
    for name, (rows, cols) in linears.items():
        found |= packed(prefix + name, rows, cols, 4)
    return found


def visual(dims: Dims) -> Inventory:
    """Return the vision tower: 12 tensors a block and 9 around them, all bf16."""
    wide, narrow = dims.vision_hidden * MERGE * MERGE, dims.vision_hidden
    found = {
        "patch_embed.proj.weight": bf16(narrow, 3, TEMPORAL, PATCH, PATCH),
        "patch_embed.proj.bias": bf16(narrow),
        "pos_embed.weight": bf16(dims.vision_positions, narrow),
    }

    def biased(name: str, *shape: int) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = bf16(*shape), bf16(shape[0])

    for block in (f"blocks.{i}" for i in range(dims.vision_depth)):
        biased(f"{block}.norm1", narrow)
        biased(f"{block}.norm2", narrow)
        biased(f"{block}.attn.qkv", 3 * narrow, narrow)
        biased(f"{block}.attn.proj", narrow, narrow)
        biased(f"{block}.mlp.linear_fc1", dims.vision_intermediate, narrow)
        biased(f"{block}.mlp.linear_fc2", narrow, dims.vision_intermediate)
    biased("merger.norm", narrow)
    biased("merger.linear_fc1", wide, wide)
    biased("merger.linear_fc2", dims.hidden, wide)
    return {VISUAL + name: spec for name, spec in found.items()}


def embedding_shard(dims: Dims) -> Inventory:
    """Return shard 6: the embedding table and the final norm."""
    return {
        f"{BODY}embed_tokens.weight": bf16(dims.vocab, dims.hidden),
        f"{BODY}norm.weight": bf16(dims.hidden),
    }


def head_shard(dims: Dims) -> Inventory:
    """Return shard 7: the output head."""
    return {"lm_head.weight": bf16(dims.vocab, dims.hidden)}


def mtp_linears(dims: Dims) -> dict[str, tuple[int, int]]:
    """Return {full name: (rows, cols)} of the eight linears of the MTP module."""
    found = {"mtp.fc": (dims.hidden, 2 * dims.hidden)}
    return found | {f"mtp.layers.0.{name}": size for name, size in attention_linears(dims).items()}


def mtp_norms(dims: Dims) -> Inventory:
    """Return the seven norms of the MTP module."""
    names = ("mtp.norm", "mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden")
    norms = {f"{name}.weight": bf16(dims.hidden) for name in names}
    plain = layer_plain(dims, attention=True)
    return norms | {f"mtp.layers.0.{name}": spec for name, spec in plain.items()}


def extras(dims: Dims) -> Inventory:
    """Return the extra file: the 15 bf16 tensors of the MTP module."""
    linears = {f"{name}.weight": bf16(*size) for name, size in mtp_linears(dims).items()}
    return mtp_norms(dims) | linears


def body_shards(dims: Dims) -> list[Inventory]:
    """Return shards 1 to 5: the vision tower, then the decoder layers in order."""
    shards: list[Inventory] = [visual(dims), {}, {}, {}, {}]
    for index in range(dims.layers):
        shards[index * 5 // dims.layers] |= layer(dims, index)
    return shards


def base_files(dims: Dims) -> Iterator[tuple[str, Inventory]]:
    """Yield (file name, tensors) of the published base checkpoint."""
    shards = [*body_shards(dims), embedding_shard(dims), head_shard(dims)]
    for number, shard in enumerate(shards, 1):
        yield f"model-{number:05d}-of-00007.safetensors", shard
    yield EXTRAS_FILE, extras(dims)


EXTRAS_FILE = "model_extra_tensors.safetensors"
HEAD_FILE = "model-00007-of-00007.safetensors"
EMBED_FILE = "model-00006-of-00007.safetensors"


def overlay_head(dims: Dims) -> Inventory:
    """Return the fast variant's shard 7: the int4 head."""
    return packed("lm_head", dims.vocab, dims.hidden, 4)


def overlay_extras(dims: Dims) -> Inventory:
    """Return the fast variant's extra file: int4 MTP module and int4 draft head, 34 tensors."""
    found = mtp_norms(dims)
    linears = mtp_linears(dims) | {"mtp.draft_lm_head": (dims.draft_vocab, dims.hidden)}
    for name, (rows, cols) in linears.items():
        found |= packed(name, rows, cols, 4)
    return found


def overlay_embedding(dims: Dims) -> Inventory:
    """Return shard 6 as the fast variant's index lists it: int8 embedding with bf16 scales."""
    table = packed(f"{BODY}embed_tokens", dims.vocab, dims.hidden, 8, scale="BF16")
    return table | {f"{BODY}norm.weight": bf16(dims.hidden)}
