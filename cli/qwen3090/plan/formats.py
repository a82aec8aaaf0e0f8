"""KV-cache formats: the bytes of a token in a layer, and the attention backend that stores them.

Mirrors what the backends' ``customize_spec`` of vLLM 0.28.0 declares
(v1/attention/backends/{flash_attn,flashinfer,triton_attn,cpu_attn}.py).
"""

from dataclasses import dataclass

from qwen3090.errors import UserError

_SCALE_BYTES = 4  # one fp32 scale per token, head and side (K or V)


@dataclass(frozen=True)
class KVFormat:
    """One way to store keys and values.

    Attributes:
        name: the value of ``kv_format``.
        bits: bits of one stored element.
        scaled: whether each head's K and each head's V carries an inline fp32 scale.
        backend: the attention backend that stores it on a 3090.
        vllm: vLLM's ``--kv-cache-dtype``; empty when vLLM 0.28.0 has no such format.
    """

    name: str
    bits: int
    scaled: bool
    backend: str
    vllm: str

    def token_bytes(self, heads: int, head_dim: int) -> int:
        """Return the bytes that one token takes in one layer of ``heads`` KV heads."""
        if self.name == KVARN:
            return heads * kvarn_tile_bytes(head_dim) // KVARN_TILE
        side = head_dim // 2 if self.bits == 4 else head_dim * self.bits // 8
        return heads * 2 * (side + (_SCALE_BYTES if self.scaled else 0))


KVARN = "kvarn_k4v2"
KVARN_TILE = 128  # tokens of one quantized tile; also the smallest block of the format


def kvarn_tile_bytes(head_dim: int) -> int:
    """Return the bytes of a tile of one KV head: 4-bit keys, 2-bit values, fp16 scales, zeros."""
    keys = head_dim * KVARN_TILE // 2 + 2 * 2 * head_dim + 2 * KVARN_TILE
    values = KVARN_TILE * head_dim // 4 + 2 * head_dim + 2 * 2 * KVARN_TILE
    return keys + values


FORMATS = {
    f.name: f
    for f in (
        KVFormat("bf16", 16, False, "FLASH_ATTN", "bfloat16"),
        KVFormat("fp8", 8, False, "FLASHINFER", "fp8"),
        KVFormat("int8", 8, True, "TRITON_ATTN", "int8_per_token_head"),
        KVFormat("int4", 4, True, "TRITON_ATTN", "int4_per_token_head"),
        KVFormat("fp8_per_token_head", 8, True, "TRITON_ATTN", "fp8_per_token_head"),
        KVFormat(KVARN, 4, False, "none", ""),
    )
}
_ALIASES = {
    "bfloat16": "bf16",
    "auto": "bf16",
    "int8_per_token_head": "int8",
    "int4_per_token_head": "int4",
    "kvarn_k4v2_g128": KVARN,
}

# Kernel blocks of the backends: any multiple of 16, or (FlashInfer below sm_100) these alone.
FIXED_KERNEL_BLOCKS = {"FLASHINFER": (16, 32, 64)}
KERNEL_BLOCK = 16
CPU_BLOCK = 128  # platforms/cpu.py sets it unless --block-size is given


def kv_format(name: str, key: str = "kv_format") -> KVFormat:
    """Return the format of a name.

    Args:
        name: ``bf16``, ``fp8``, ``int8``, ``int4`` or vLLM's own name for one of them.
        key: the setting it comes from, for the message.

    Raises:
        UserError: no such format.
    """
    found = FORMATS.get(_ALIASES.get(name, name))
    if found is None:
        raise UserError(
            f"{key} is '{name}', which is no KV-cache format",
            f"set {key} to bf16, fp8, int8 or int4",
        )
    return found
