"""Launches the convolution kernel of a speculative step as vLLM's wrapper does.

On a CPU the wrapper's name is another function, so the kernel is launched here for the interpreter.
"""

from typing import Any

import torch


def convolve(
    x: torch.Tensor,
    weight: torch.Tensor,
    states: torch.Tensor,
    slots: torch.Tensor,
    accepted: torch.Tensor,
    starts: torch.Tensor,
    drafts: int,
) -> torch.Tensor:
    """Return [tokens, channels], silu included; ``states`` change in place.

    Args:
        x: [tokens, channels].
        weight: [channels, width].
        states: [slots, width - 1 + drafts, channels], a window of inputs each.
        slots: int32 [requests], the slot of each.
        accepted: int32 [requests], tokens that the last step of each emitted.
        starts: int32 [requests + 1], where the tokens of each begin.
        drafts: drafts of a full verify step.
    """
    from vllm.model_executor.layers.mamba.ops import causal_conv1d as conv

    channels, width = weight.shape
    out = torch.full_like(x, 7.0)
    state_len = width - 1 + drafts
    arguments: dict[str, Any] = {
        "x_ptr": x,
        "w_ptr": weight,
        "bias_ptr": None,
        "conv_state_ptr": states,
        "conv_state_indices_ptr": slots,
        "num_accepted_tokens_ptr": accepted,
        "query_start_loc_ptr": starts,
        "block_idx_last_scheduled_token": None,
        "initial_state_idx": None,
        "o_ptr": out,
        "batch": len(slots),
        "dim": channels,
        "seqlen": drafts + 1,
        "state_len": state_len,
        "num_cache_lines": states.shape[0],
        "stride_x_seq": 0,
        "stride_x_dim": 1,
        "stride_x_token": channels,
        "stride_w_dim": width,
        "stride_w_width": 1,
        "stride_conv_state_seq": states.stride(0),
        "stride_conv_state_dim": states.stride(2),
        "stride_conv_state_tok": states.stride(1),
        "stride_state_indices": slots.stride(0),
        "stride_o_seq": 0,
        "stride_o_dim": 1,
        "stride_o_token": channels,
        "null_block_id": 0,
        "HAS_BIAS": False,
        "KERNEL_WIDTH": width,
        "SILU_ACTIVATION": True,
        "IS_VARLEN": True,
        "IS_APC_ENABLED": False,
        "IS_SPEC_DECODING": True,
        "NP2_STATELEN": 1 << (state_len - 1).bit_length(),
        "HAS_NULL_BLOCK": True,
        "BLOCK_N": 8,
        "launch_pdl": False,
    }
    conv._causal_conv1d_update_kernel[(len(slots), -(-channels // 8))](**arguments)
    return out
