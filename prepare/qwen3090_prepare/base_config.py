"""config.json and the index of the published base, for a download that lacks them.

Neither file's hash is public, so they are generated: the config from the architecture's published
values (the prepared configs made from it have the published hashes), the index from the headers.
"""

import json
from pathlib import Path
from typing import Any

from qwen3090_prepare.checkpoint import CONFIG, INDEX, Checkpoint, load
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.files import write_whole
from qwen3090_prepare.index import index_bytes
from qwen3090_prepare.names import find_embedding
from qwen3090_prepare.scheme import group

VOCABULARY, HIDDEN, LAYERS = 248320, 5120, 64


def generated_base_config() -> dict[str, Any]:
    """Return the published base's config.json: int4 body, everything else bf16."""
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "dtype": "bfloat16",
        "image_token_id": 248056,
        "language_model_only": False,
        "model_type": "qwen3_5",
        "quantization_config": {
            "config_groups": {"group_0": group("Linear", 4)},
            "format": "pack-quantized",
            "global_compression_ratio": None,
            "ignore": _ignored(),
            "kv_cache_scheme": None,
            "quant_method": "compressed-tensors",
            "quantization_status": "compressed",
        },
        "text_config": _text(),
        "tie_word_embeddings": False,
        "transformers_version": "5.16.0.dev0",
        "video_token_id": 248057,
        "vision_config": _vision(),
        "vision_end_token_id": 248054,
        "vision_start_token_id": 248053,
    }


def config_for(base: Checkpoint) -> dict[str, Any]:
    """Return :func:`generated_base_config` if ``base`` has the published model's sizes.

    Raises:
        PrepareError: its embedding has another shape, so its config cannot be guessed.
    """
    module = find_embedding(base.tensors)
    scale = base.tensors.get(f"{module}.weight_scale")
    stored = base.tensors.get(f"{module}.weight")
    if stored is not None:
        found = stored.spec.shape
    else:
        found = (scale.spec.shape[0], scale.spec.shape[1] * 128) if scale else ()
    if found != (VOCABULARY, HIDDEN):
        raise PrepareError(
            f"{base.directory / CONFIG}: missing, and the embedding {list(found)} is not the "
            f"published model's {[VOCABULARY, HIDDEN]}, so it cannot be generated",
            "fetch config.json of this checkpoint",
        )
    return generated_base_config()


def generate_base_files(directory: Path) -> list[Path]:
    """Write config.json and the index of a downloaded base where they are missing.

    Returns:
        The files written (none when both were there).

    Raises:
        PrepareError: the shards are damaged, or are not the published model's.
    """
    base, written = load(directory), []
    if base.config is None:
        text = json.dumps(config_for(base), indent=2) + "\n"
        write_whole(directory / CONFIG, text.encode())
        written.append(directory / CONFIG)
    if base.weight_map is None:
        weight_map = {name: stored.path.name for name, stored in base.tensors.items()}
        total = sum(stored.spec.nbytes for stored in base.tensors.values())
        write_whole(directory / INDEX, index_bytes(weight_map, total))
        written.append(directory / INDEX)
    return written


def _ignored() -> list[str]:
    names = []
    for block in range(27):
        parts = ("attn.qkv", "attn.proj", "mlp.linear_fc1", "mlp.linear_fc2")
        names += [f"model.visual.blocks.{block}.{part}" for part in parts]
    names += ["model.visual.merger.linear_fc1", "model.visual.merger.linear_fc2"]
    for layer in (i for i in range(LAYERS) if i % 4 != 3):
        prefix = f"model.language_model.layers.{layer}.linear_attn"
        names += [f"{prefix}.in_proj_b", f"{prefix}.in_proj_a"]
    return [*names, "lm_head"]


def _text() -> dict[str, Any]:
    kinds = ["full_attention" if i % 4 == 3 else "linear_attention" for i in range(LAYERS)]
    return {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "attn_output_gate": True,
        "bos_token_id": 248044,
        "dtype": "bfloat16",
        "eos_token_id": 248044,
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "initializer_range": 0.02,
        "intermediate_size": 17408,
        "layer_types": kinds,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "model_type": "qwen3_5_text",
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "num_attention_heads": 24,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": 4,
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
        "vocab_size": VOCABULARY,
    }


def _vision() -> dict[str, Any]:
    return {
        "deepstack_visual_indexes": [],
        "depth": 27,
        "dtype": "bfloat16",
        "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": 1152,
        "in_channels": 3,
        "initializer_range": 0.02,
        "intermediate_size": 4304,
        "model_type": "qwen3_5_vision",
        "num_heads": 16,
        "num_position_embeddings": 2304,
        "out_hidden_size": 5120,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }
