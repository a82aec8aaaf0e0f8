"""Our reading of quantization_config against the engine's own matching code."""

import pytest
from qwen3090_prepare import generated_base_config, scheme

MODULES = [
    ("lm_head", False),
    ("mtp.draft_lm_head", False),
    ("model.language_model.embed_tokens", False),
    ("mtp.embed_tokens", False),
    ("mtp.fc", True),
    ("mtp.layers.0.self_attn.o_proj", True),
    ("model.language_model.layers.3.mlp.down_proj", True),
    ("model.language_model.layers.0.linear_attn.in_proj_a", True),
    ("model.visual.blocks.0.attn.proj", True),
]


@pytest.mark.engine
@pytest.mark.parametrize("bits", [(8, 8, 8), (4, 8, 4), (8, 8, 4), (4, 4, 8), None])
def test_the_engine_picks_the_bits_that_we_expect(bits):
    utils = pytest.importorskip(
        "vllm.model_executor.layers.quantization.compressed_tensors.utils",
        reason="needs the engine",
    )
    names = {"head": ["lm_head", "mtp.draft_lm_head"], "embed": ["embed_tokens"], "mtp": ["mtp.fc"]}
    config = generated_base_config()
    if bits is None:
        config = scheme.edit(config, {}, [], ["mtp.fc", "mtp.layers.0.self_attn.o_proj"], [])
    else:
        parts = dict(zip(names, bits, strict=True))
        packed = [name for part in names.values() for name in part]
        config = scheme.edit(config, parts, packed, [], ["model.visual.blocks.0.attn.proj"])
    section = config["quantization_config"]
    targets = {
        target: group["weights"]["num_bits"]
        for group in section["config_groups"].values()
        for target in group["targets"]
    }
    linear, other = type("ColumnParallelLinear", (), {})(), type("VocabParallelEmbedding", (), {})()
    for module, is_linear in MODULES:
        layer = linear if is_linear else other
        found = None
        if not utils.should_ignore_layer(module, ignore=section["ignore"]):
            found = targets.get(utils.find_matched_target(module, layer, targets.keys()))
        assert scheme.resolve_bits(config, module, linear=is_linear) == found, module
