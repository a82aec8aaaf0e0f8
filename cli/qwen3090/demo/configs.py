"""The JSON files of the demo checkpoint, with the published files' keys and key order."""

from typing import Any

from qwen3090.demo.dims import Dims
from qwen3090.demo.tokenizer import special_id

Json = dict[str, Any]


def weights(bits: int) -> Json:
    """Return the weight scheme of a config group: ``bits`` wide, group 128, symmetric."""
    return {
        "actorder": None,
        "block_structure": None,
        "dynamic": False,
        "group_size": 128,
        "num_bits": bits,
        "observer": "memoryless_minmax",
        "observer_kwargs": {},
        "scale_dtype": None,
        "strategy": "group",
        "symmetric": True,
        "type": "int",
        "zp_dtype": None,
    }


def group(target: str, bits: int) -> Json:
    """Return a config group for one target."""
    return {
        "format": "pack-quantized",
        "input_activations": None,
        "output_activations": None,
        "targets": [target],
        "weights": weights(bits),
    }


def ignored(dims: Dims) -> list[str]:
    """Return the linears that stay bf16, as the published list names them (without lm_head).

    The MTP module's linears are bf16 too and are *not* in the published list.
    """
    blocks = ("attn.qkv", "attn.proj", "mlp.linear_fc1", "mlp.linear_fc2")
    names = [f"model.visual.blocks.{i}.{m}" for i in range(dims.vision_depth) for m in blocks]
    names += ["model.visual.merger.linear_fc1", "model.visual.merger.linear_fc2"]
    for i in range(dims.layers):
        if not dims.is_attention(i):
            prefix = f"model.language_model.layers.{i}.linear_attn."
            names += [f"{prefix}in_proj_b", f"{prefix}in_proj_a"]
    return names


def quantization(groups: Json, ignore: list[str]) -> Json:
    """Return ``quantization_config`` as config.json has it."""
    return {
        "config_groups": groups,
        "format": "pack-quantized",
        "global_compression_ratio": None,
        "ignore": ignore,
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
    }


def base_quantization(dims: Dims) -> Json:
    """Return the base checkpoint's ``quantization_config``."""
    return quantization({"group_0": group("Linear", 4)}, [*ignored(dims), "lm_head"])


def quantization_file(dims: Dims) -> Json:
    """Return quantization_config.json of the base: same content, the quantizer's key order."""
    order = "num_bits type symmetric group_size strategy block_structure dynamic actorder"
    keys = [*order.split(), "scale_dtype", "zp_dtype", "observer", "observer_kwargs"]
    scheme = weights(4)
    linear = {
        "targets": ["Linear"],
        "weights": {key: scheme[key] for key in keys},
        "input_activations": None,
        "output_activations": None,
        "format": "pack-quantized",
    }
    return {
        "config_groups": {"group_0": linear},
        "quant_method": "compressed-tensors",
        "kv_cache_scheme": None,
        "format": "pack-quantized",
        "quantization_status": "compressed",
        "global_compression_ratio": None,
        "ignore": [*ignored(dims), "lm_head"],
    }


def overlay_quantization(dims: Dims) -> Json:
    """Return the fast variant's ``quantization_config``: int4 head and MTP, int8 embedding."""
    groups = {
        "group_0": group("Linear", 4),
        "group_1": group("re:.*lm_head$", 4),
        "group_2": group("re:.*embed_tokens$", 8),
        "group_3": group(r"re:^mtp\..*", 4),
    }
    return quantization(groups, ignored(dims))


def model(dims: Dims, quantization_config: Json) -> Json:
    """Return config.json of the target model."""
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "dtype": "bfloat16",
        "image_token_id": special_id(dims, "<|image_pad|>"),
        "language_model_only": False,
        "model_type": "qwen3_5",
        "quantization_config": quantization_config,
        "text_config": _text(dims),
        "tie_word_embeddings": False,
        "transformers_version": "5.16.0.dev0",
        "video_token_id": special_id(dims, "<|video_pad|>"),
        "vision_config": _vision(dims),
        "vision_end_token_id": special_id(dims, "<|vision_end|>"),
        "vision_start_token_id": special_id(dims, "<|vision_start|>"),
    }


def _text(dims: Dims) -> Json:
    end = special_id(dims, "<|endoftext|>")
    kinds = ("linear_attention", "full_attention")
    return {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "attn_output_gate": True,
        "bos_token_id": end,
        "dtype": "bfloat16",
        "eos_token_id": end,
        "full_attention_interval": 4,
        "head_dim": dims.head_dim,
        "hidden_act": "silu",
        "hidden_size": dims.hidden,
        "initializer_range": 0.02,
        "intermediate_size": dims.intermediate,
        "layer_types": [kinds[dims.is_attention(i)] for i in range(dims.layers)],
        "linear_conv_kernel_dim": dims.conv_width,
        "linear_key_head_dim": dims.gdn_dim,
        "linear_num_key_heads": dims.gdn_key_heads,
        "linear_num_value_heads": dims.gdn_value_heads,
        "linear_value_head_dim": dims.gdn_dim,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": dims.max_positions,
        "model_type": "qwen3_5_text",
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "num_attention_heads": dims.heads,
        "num_hidden_layers": dims.layers,
        "num_key_value_heads": dims.kv_heads,
        "output_gate_type": "swish",
        "pad_token_id": None,
        "partial_rotary_factor": 0.25,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": [11, 11, 10],
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000000,
            "rope_type": "default",
        },
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": dims.vocab,
    }


def _vision(dims: Dims) -> Json:
    return {
        "deepstack_visual_indexes": [],
        "depth": dims.vision_depth,
        "dtype": "bfloat16",
        "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": dims.vision_hidden,
        "in_channels": 3,
        "initializer_range": 0.02,
        "intermediate_size": dims.vision_intermediate,
        "model_type": "qwen3_5_vision",
        "num_heads": dims.vision_heads,
        "num_position_embeddings": dims.vision_positions,
        "out_hidden_size": dims.hidden,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }
