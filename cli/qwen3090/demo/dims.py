"""Sizes of the architecture: the tiny checkpoint's and the published model's, in one type.

Everything else in this package is a function of these numbers, so the same inventory
describes both, and a test can compare it with the published byte counts.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dims:
    """Sizes of a checkpoint and of its DFlash2 drafter. The defaults are the tiny ones.

    ``layers`` counts decoder layers, every fourth of which is full attention. The
    linear-attention (GDN) heads are chosen so that vLLM's hybrid block is 128 tokens and
    ``2 * gdn_value_heads`` is a multiple of 16, which the CPU engine's small matrix
    multiplication with AMX needs. Every linear that is quantized has an input width that
    is a multiple of 128, the group size.
    """

    hidden: int = 256
    intermediate: int = 512
    layers: int = 8
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 256
    gdn_key_heads: int = 8
    gdn_value_heads: int = 24
    gdn_dim: int = 64
    conv_width: int = 4
    bpe_tokens: int = 1488
    vocab: int = 1536
    draft_vocab: int = 256
    max_positions: int = 4096
    vision_depth: int = 2
    vision_hidden: int = 64
    vision_intermediate: int = 128
    vision_heads: int = 4
    vision_positions: int = 64
    draft_layers: int = 5
    draft_heads: int = 16
    draft_kv_heads: int = 8
    draft_head_dim: int = 128
    draft_targets: tuple[int, ...] = (1, 2, 4, 5, 6)
    draft_window: int = 2048
    draft_taps: int = 2
    draft_conv_group: int = 16
    selector_rank: int = 32
    selector_top_k: int = 16
    draft_block: int = 8

    def is_attention(self, layer: int) -> bool:
        """Tell whether decoder layer ``layer`` (0-based) is full attention."""
        return layer % 4 == 3

    @property
    def gdn_qkv(self) -> int:
        """Rows of the fused GDN query/key/value projection and channels of its convolution."""
        return (2 * self.gdn_key_heads + self.gdn_value_heads) * self.gdn_dim

    @property
    def gdn_value(self) -> int:
        """Width of the GDN value path."""
        return self.gdn_value_heads * self.gdn_dim


TINY = Dims()

PUBLISHED = Dims(
    hidden=5120,
    intermediate=17408,
    layers=64,
    heads=24,
    kv_heads=4,
    head_dim=256,
    gdn_key_heads=16,
    gdn_value_heads=48,
    gdn_dim=128,
    conv_width=4,
    bpe_tokens=248044,
    vocab=248320,
    draft_vocab=40960,
    max_positions=262144,
    vision_depth=27,
    vision_hidden=1152,
    vision_intermediate=4304,
    vision_heads=16,
    vision_positions=2304,
    draft_heads=32,
    draft_targets=(5, 19, 33, 47, 61),
    selector_rank=256,
)
