"""The remaining JSON files: generation defaults, image processor, and the drafter's config."""

from qwen3090.demo.configs import Json, group
from qwen3090.demo.dims import Dims
from qwen3090.demo.tokenizer import special_id


def generation(dims: Dims) -> Json:
    """Return generation_config.json."""
    end = special_id(dims, "<|endoftext|>")
    return {
        "bos_token_id": end,
        "do_sample": True,
        "eos_token_id": [special_id(dims, "<|im_end|>"), end],
        "pad_token_id": end,
        "temperature": 1.0,
        "top_k": 20,
        "top_p": 0.95,
        "transformers_version": "5.16.0.dev0",
    }


def _pixels(kind: str) -> Json:
    return {
        **({"image_processor_type": kind} if "Image" in kind else {"video_processor_type": kind}),
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "merge_size": 2,
        "patch_size": 16,
        "size": {"longest_edge": 65536, "shortest_edge": 1024},
        "temporal_patch_size": 2,
    }


def processor() -> Json:
    """Return processor_config.json: image and video processors in one file."""
    return {
        "image_processor": _pixels("Qwen2VLImageProcessorFast"),
        "processor_class": "Qwen3VLProcessor",
        "video_processor": _pixels("Qwen3VLVideoProcessor"),
    }


def drafter(dims: Dims) -> Json:
    """Return config.json of the bf16 DFlash2 drafter."""
    end = special_id(dims, "<|endoftext|>")
    return {
        "architectures": ["DFlash2DraftModel"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": None,
        "is_causal": False,
        "dflash_config": {
            "block_size": dims.draft_block,
            "conv_group_size": dims.draft_conv_group,
            "conv_kernel_size": dims.draft_taps,
            "mask_token_id": special_id(dims, "<|audio_start|>"),
            "selector_rank": dims.selector_rank,
            "selector_top_k": dims.selector_top_k,
            "target_layer_ids": list(dims.draft_targets),
        },
        "dtype": "bfloat16",
        "eos_token_id": end,
        "head_dim": dims.draft_head_dim,
        "hidden_act": "silu",
        "hidden_size": dims.hidden,
        "initializer_range": 0.02,
        "intermediate_size": dims.intermediate,
        "layer_types": ["sliding_attention"] * dims.draft_layers,
        "max_position_embeddings": dims.max_positions,
        "max_window_layers": dims.draft_layers,
        "model_type": "qwen3",
        "num_attention_heads": dims.draft_heads,
        "num_hidden_layers": dims.draft_layers,
        "num_key_value_heads": dims.draft_kv_heads,
        "num_target_layers": dims.layers,
        "pad_token_id": end,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {"rope_theta": 10000000, "rope_type": "default"},
        "sliding_window": dims.draft_window,
        "tie_word_embeddings": False,
        "transformers_version": "5.15.0",
        "use_cache": True,
        "use_sliding_window": True,
        "vocab_size": dims.vocab,
    }


def drafter_int4(dims: Dims) -> Json:
    """Return config.json of the int4 DFlash2 drafter."""
    ignore = ["re:.*kernel_projection$", "re:.*candidate_selector.*", "re:.*hidden_projection$"]
    scheme = {
        "config_groups": {"group_0": group("Linear", 4)},
        "format": "pack-quantized",
        "global_compression_ratio": None,
        "ignore": ignore,
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "sparsity_config": {},
        "transform_config": {},
        "version": "0.17.0",
    }
    return {**drafter(dims), "quantization_config": scheme}
