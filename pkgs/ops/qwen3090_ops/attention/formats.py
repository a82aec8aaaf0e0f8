"""How vLLM's TRITON_ATTN stores quantized keys and values, seen as 32-bit words.

Per token and KV head its store kernels write [K | fp32 scale | V | fp32 scale]
(vllm.v1.attention.ops.triton_reshape_and_cache_flash and int4_per_token_head). A head is 520 or
264 bytes long, so V starts at a multiple of 4 bytes only: readers load words of 4 or 8 values.

``int8``: value = int8 x scale. ``int4``: keys and values are rotated first by vLLM's randomized
Hadamard transform, of norm sqrt(dim); value = (nibble - zero point) x scale, the lower nibble of a
byte first, where the scale's last 4 bits hold the zero point and count as 0 in the scale.
"""

from dataclasses import dataclass
from functools import cache

import torch


@dataclass(frozen=True)
class Format:
    """A quantized cache: ``values`` of a head's dimensions share one 32-bit word."""

    name: str
    values: int

    @property
    def cache_dtype(self) -> str:
        """Return what vLLM's ``--kv-cache-dtype`` calls it."""
        return f"{self.name}_per_token_head"

    @property
    def rotated(self) -> bool:
        """Return whether the cache holds rotated keys and values."""
        return self.values == 8


INT8 = Format("int8", 4)
INT4 = Format("int4", 8)
FORMATS = {form.cache_dtype: form for form in (INT8, INT4)}
"""Each format by vLLM's name of its cache dtype."""


def words(kv_cache: torch.Tensor) -> torch.Tensor:
    """Return a layer's cache as int32 [blocks, block size, KV heads, 2 (dim / values + 1)], a view.

    The last dimension holds the words of K, the bits of K's scale, the words of V, V's scale.

    Args:
        kv_cache: int8 or uint8 [blocks, KV heads, block size, bytes], as vLLM hands it to a layer:
            the last dimension contiguous, the others with any strides of whole words.

    Raises:
        RuntimeError: torch's, where bytes or strides are no whole words.
    """
    return kv_cache.view(torch.int32).transpose(1, 2)


@cache
def rotation(dim: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return R [dim, dim], ±1/dim: x @ R is a query for a rotated cache, y @ R.T a result back.

    With vLLM's transform T of norm sqrt(dim), R is T / dim: q @ R times cached keys is q·k, and
    attention over cached values is undone by R.T. Entries are exact in bf16 for dim = 256. Made
    once a device: call it before a CUDA graph is captured.
    """
    from vllm.v1.attention.ops.int4_per_token_head import single_rht

    # its CUDA path rounds to bf16, which keeps the signs
    signs: torch.Tensor = single_rht(torch.eye(dim, device=device)).sign()
    return (signs / dim).to(dtype)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Return queries [..., dim] as they meet an int4 cache's stored keys: q·k stays what it was."""
    return x @ rotation(x.shape[-1], x.dtype, x.device)


def unrotate(x: torch.Tensor) -> torch.Tensor:
    """Return attention [..., dim] over an int4 cache's stored values in the model's space."""
    return x @ rotation(x.shape[-1], x.dtype, x.device).T
