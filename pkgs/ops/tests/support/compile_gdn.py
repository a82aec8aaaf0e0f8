"""Compiles the DeltaNet kernels that patch 0241 changes for sm_86, without a GPU; prints JSON.

Exit status 3: vLLM takes no Triton here. Run by test_gdn_sm86.py in a process of its own: vLLM
uses Triton on a machine without a GPU only where Triton has a backend called "cpu".
"""

import json
import sys
import types
from typing import Any

from triton import backends

never = types.SimpleNamespace(is_active=lambda: False, supports_target=lambda _: False)
backends.backends["cpu"] = types.SimpleNamespace(driver=never, compiler=never)

from qwen3090_ops.kernels import Example, compile_for  # noqa: E402
from vllm.triton_utils import HAS_TRITON  # noqa: E402

if not HAS_TRITON:  # an engine for GPUs, on a machine without one: its kernels are placeholders
    sys.exit(3)

OPS = "vllm.third_party.flash_linear_attention.ops"
DRAFTS = 7
HEADS, VALUE_HEADS, DIM = 16, 48, 128
CHANNELS, KERNEL = 10_240, 4
ROW = CHANNELS + VALUE_HEADS * DIM  # the projection's row: q, k, v, and the gate z behind
STATE = VALUE_HEADS * DIM * DIM
DELTA: dict[str, Any] = {
    "B": 1,
    "H": HEADS,
    "HV": VALUE_HEADS,
    "K": DIM,
    "V": DIM,
    "BK": DIM,
    "BV": 32,
    "stride_init_state_token": STATE,
    "stride_final_state_token": STATE,
    "stride_indices_seq": DRAFTS + 1,
    "stride_indices_tok": 1,
    "num_state_slots": DRAFTS + 1,
    "USE_INITIAL_STATE": True,
    "INPLACE_FINAL_STATE": True,
    "USE_QK_L2NORM_IN_KERNEL": True,
    "IS_VARLEN": True,
    "IS_CONTINUOUS_BATCHING": True,
    "IS_SPEC_DECODING": True,
    "IS_KDA": False,
}
COMMON = {
    **dict.fromkeys("qkvo", "*bf16"),
    "h0": "*fp16",
    "ht": "*fp16",
    "cu_seqlens": "*i32",
    "ssm_state_indices": "*i32",
    "num_accepted_tokens": "*i32",
    "scale": "fp32",
    "N": "i64",
    "T": "i64",
}
EXAMPLES = [
    Example(
        "sigmoid gating",
        f"{OPS}.fused_sigmoid_gating:fused_sigmoid_gating_delta_rule_update_kernel",
        {
            "A_log": "*fp32",
            "a": "*bf16",
            "b": "*bf16",
            "dt_bias": "*bf16",
            "beta": "fp32",
            "threshold": "fp32",
            **COMMON,
        },
        {**DELTA, **dict.fromkeys(("stride_q_tok", "stride_k_tok", "stride_v_tok"), ROW)},
    ),
    Example(
        "recurrent",
        f"{OPS}.fused_recurrent:fused_recurrent_gated_delta_rule_fwd_kernel",
        {"g": "*fp32", "beta": "*bf16", **COMMON},
        {**DELTA, "IS_BETA_HEADWISE": False},
        warps=1,
    ),
    *(
        Example(
            f"convolution, {'verify' if spec else 'decode'}",
            "vllm.model_executor.layers.mamba.ops.causal_conv1d:_causal_conv1d_update_kernel",
            {
                "x_ptr": "*bf16",
                "w_ptr": "*bf16",
                "conv_state_ptr": "*bf16",
                "conv_state_indices_ptr": "*i32",
                "num_accepted_tokens_ptr": "*i32",
                "query_start_loc_ptr": "*i32",
                "o_ptr": "*bf16",
                "batch": "i32",
                "num_cache_lines": "i32",
                "stride_x_token": "i64",
                "stride_o_token": "i64",
            },
            {
                "bias_ptr": None,
                "block_idx_last_scheduled_token": None,
                "initial_state_idx": None,
                **({} if spec else {"num_accepted_tokens_ptr": None, "query_start_loc_ptr": None}),
                "dim": CHANNELS,
                "seqlen": DRAFTS + 1 if spec else 1,
                "state_len": KERNEL - 1 + (DRAFTS if spec else 0),
                "stride_x_seq": 0 if spec else CHANNELS,
                "stride_x_dim": 1,
                "stride_w_dim": KERNEL,
                "stride_w_width": 1,
                "stride_conv_state_seq": CHANNELS * (KERNEL - 1 + DRAFTS),
                "stride_conv_state_dim": 1,
                "stride_conv_state_tok": CHANNELS,
                "stride_state_indices": DRAFTS + 1 if spec else 1,
                "stride_o_seq": 0 if spec else CHANNELS,
                "stride_o_dim": 1,
                "null_block_id": 0,
                "HAS_BIAS": False,
                "KERNEL_WIDTH": KERNEL,
                "SILU_ACTIVATION": True,
                "IS_VARLEN": spec,
                "IS_APC_ENABLED": False,
                "IS_SPEC_DECODING": spec,
                "NP2_STATELEN": 16 if spec else 4,
                "HAS_NULL_BLOCK": True,
                "BLOCK_N": 256,
                "launch_pdl": False,
            },
        )
        for spec in (True, False)
    ),
]

if __name__ == "__main__":
    print(json.dumps([vars(compile_for(example)) for example in EXAMPLES]))
