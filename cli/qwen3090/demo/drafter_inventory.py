"""Names, dtypes and shapes of the DFlash2 drafter: 81 bf16 tensors, 153 when it is int4."""

from qwen3090.demo.dims import Dims
from qwen3090.demo.inventory import Inventory, bf16, mlp_linears, packed


def drafter_linears(dims: Dims) -> dict[str, tuple[int, int]]:
    """Return {name: (rows, cols)} of the 36 linears that the int4 drafter packs."""
    wide = dims.draft_heads * dims.draft_head_dim
    narrow = dims.draft_kv_heads * dims.draft_head_dim
    one = {
        "self_attn.q_proj": (wide, dims.hidden),
        "self_attn.k_proj": (narrow, dims.hidden),
        "self_attn.v_proj": (narrow, dims.hidden),
        "self_attn.o_proj": (dims.hidden, wide),
        **mlp_linears(dims),
    }
    found = {"fc": (dims.hidden, len(dims.draft_targets) * dims.hidden)}
    for index in range(dims.draft_layers):
        found |= {f"layers.{index}.{name}": size for name, size in one.items()}
    return found


def drafter_plain(dims: Dims) -> Inventory:
    """Return the 45 drafter tensors that are bf16 in both forms."""
    rank, groups = dims.selector_rank, dims.hidden // dims.draft_conv_group
    found = {
        "hidden_norm.weight": bf16(dims.hidden),
        "norm.weight": bf16(dims.hidden),
        "candidate_selector.predecessor_codebook": bf16(dims.vocab, rank),
        "candidate_selector.successor_codebook": bf16(dims.vocab, rank),
        "candidate_selector.hidden_projection.weight": bf16(rank, dims.hidden),
    }
    for prefix in (f"layers.{i}." for i in range(dims.draft_layers)):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{prefix}{norm}.weight"] = bf16(dims.hidden)
        for norm in ("q_norm", "k_norm"):
            found[f"{prefix}self_attn.{norm}.weight"] = bf16(dims.draft_head_dim)
        for conv in ("attention_conv", "mlp_conv"):
            rows = 2 * dims.draft_taps * groups
            found[f"{prefix}{conv}.base_kernel"] = bf16(2, dims.draft_taps, dims.hidden)
            found[f"{prefix}{conv}.kernel_projection.weight"] = bf16(rows, dims.hidden)
    return found


def drafter(dims: Dims, int4: bool) -> Inventory:
    """Return the drafter's tensors, with packed linears when ``int4``."""
    found = drafter_plain(dims)
    for name, (rows, cols) in drafter_linears(dims).items():
        found |= packed(name, rows, cols, 4) if int4 else {f"{name}.weight": bf16(rows, cols)}
    return found
