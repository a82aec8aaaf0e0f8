"""vLLM's FlashAttention as prefill over a quantized cache calls it."""

import torch
from vllm.platforms import current_platform

from qwen3090_ops.attention.prefill import Flash


def flash_attention(head_size: int, scale: float, version: int | None = None) -> Flash | None:
    """Return vLLM's FlashAttention, None where there is none (not CUDA).

    Args:
        head_size: dimensions of a head.
        scale: multiplies q·k.
        version: 2 or 3; None: the platform's, or attention_config's where a vLLM config is set.
    """
    if not current_platform.is_cuda():
        return None
    from vllm.v1.attention.backends.fa_utils import flash_attn_varlen_func, get_flash_attn_version

    version = version or get_flash_attn_version(head_size=head_size)
    if version is None:
        return None

    def flash(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        out: torch.Tensor,
        *,
        starts: torch.Tensor,
        ends: torch.Tensor,
        longest: int,
        most: int,
        causal: bool,
    ) -> torch.Tensor:
        _, found = flash_attn_varlen_func(
            q=q,
            k=k,
            v=v,
            out=out,
            cu_seqlens_q=starts,
            max_seqlen_q=longest,
            cu_seqlens_k=ends,
            max_seqlen_k=most,
            softmax_scale=scale,
            causal=causal,
            return_softmax_lse=True,
            fa_version=version,
        )
        return torch.as_tensor(found)

    return flash
