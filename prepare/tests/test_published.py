"""The published facts: config hashes and file sizes that our layout must reproduce to the byte."""

import hashlib
import json

import pytest
from qwen3090_prepare import generate_base_files, generated_base_config, scheme
from qwen3090_prepare.header import Spec, layout
from safetensors.torch import load_file, save

VOCAB, HIDDEN, INNER = 248320, 5120, 17408
EMBED = "model.language_model.embed_tokens"
MTP = {
    "mtp.fc": (HIDDEN, 2 * HIDDEN),
    "mtp.layers.0.self_attn.q_proj": (12288, HIDDEN),
    "mtp.layers.0.self_attn.k_proj": (1024, HIDDEN),
    "mtp.layers.0.self_attn.v_proj": (1024, HIDDEN),
    "mtp.layers.0.self_attn.o_proj": (HIDDEN, 6144),
    "mtp.layers.0.mlp.gate_proj": (INNER, HIDDEN),
    "mtp.layers.0.mlp.up_proj": (INNER, HIDDEN),
    "mtp.layers.0.mlp.down_proj": (HIDDEN, INNER),
}
NORMS = {
    **{f"mtp.{n}.weight": HIDDEN for n in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden")},
    **{f"mtp.layers.0.{n}.weight": HIDDEN for n in ("input_layernorm", "post_attention_layernorm")},
    **{f"mtp.layers.0.self_attn.{n}.weight": 256 for n in ("q_norm", "k_norm")},
}


def packed(name: str, rows: int, width: int, bits: int, scale: str = "F16") -> list[Spec]:
    return [
        Spec(f"{name}.weight_packed", "I32", (rows, width * bits // 32)),
        Spec(f"{name}.weight_scale", scale, (rows, width // 128)),
        Spec(f"{name}.weight_shape", "I64", (2,)),
    ]


@pytest.mark.parametrize(
    ("bits", "digest"),
    [
        ((8, 8, 8), "eddb28f7ebde545670068a93c029d4b399c9649f6e847d087f0846268632d485"),
        ((4, 8, 4), "5a3e7312dee3a6c5909beb854b05ac818be836683730e4facba81f547b77fd62"),
    ],
)
def test_prepared_configs_have_the_published_hashes(bits, digest):
    parts = dict(zip(("head", "embed", "mtp"), bits, strict=True))
    modules = ["lm_head", EMBED, "mtp.draft_lm_head", *MTP]
    others = ["model.language_model.layers.0.mlp.up_proj"]
    data = scheme.dump(scheme.edit(generated_base_config(), parts, modules, [], others))
    assert len(data) == 17060
    assert hashlib.sha256(data).hexdigest() == digest


def test_sizes_of_the_prepared_files():
    table = [*packed(EMBED, VOCAB, HIDDEN, 8, "BF16")]
    table.append(Spec("model.language_model.norm.weight", "BF16", (HIDDEN,)))
    assert layout(table).size == 1291274752
    assert layout(packed("lm_head", VOCAB, HIDDEN, 4)).size == 655565120
    linears = {**MTP, "mtp.draft_lm_head": (40960, HIDDEN)}
    extra = [spec for name, (r, w) in linears.items() for spec in packed(name, r, w, 4)]
    extra += [Spec(name, "BF16", (width,)) for name, width in NORMS.items()]
    assert len(extra) == 34
    assert layout(extra).size == 327162544


def test_the_draft_head_gets_the_heads_bits_whatever_the_mtp_modules_are():
    modules = ["lm_head", EMBED, "mtp.draft_lm_head", *MTP]
    for head, mtp in ((8, 4), (4, 8)):
        parts = {"mtp": mtp, "head": head}
        config = scheme.edit(generated_base_config(), parts, modules, [], [])
        assert scheme.resolve_bits(config, "mtp.draft_lm_head", linear=False) == head
        assert scheme.resolve_bits(config, "mtp.fc", linear=True) == mtp
        body = "model.language_model.layers.0.mlp.up_proj"
        assert scheme.resolve_bits(config, body, linear=True) == 4


def test_before_the_mtp_module_is_packed_its_linears_are_ignored():
    plain = sorted(MTP)
    config = scheme.edit(generated_base_config(), {"head": 8}, ["lm_head"], plain, [])
    ignore = config["quantization_config"]["ignore"]
    assert "lm_head" not in ignore and ignore[-8:] == plain
    later = scheme.edit(config, {"head": 8, "mtp": 8}, ["lm_head", *MTP], [], [])
    assert later["quantization_config"]["ignore"] == ignore[:-8]


def test_an_ignore_regex_that_hides_only_packed_modules_goes_and_others_stay():
    config = generated_base_config()
    section = config["quantization_config"]
    section["ignore"] = ["re:.*lm_head", "re:^mtp.*", "re:.*proj"]
    edited = scheme.edit(config, {"head": 8}, ["lm_head"], [], ["a.q_proj", "mtp.norm"])
    assert edited["quantization_config"]["ignore"] == ["re:^mtp.*", "re:.*proj"]


def test_a_layout_equals_the_librarys_file(make_base, tmp_path):
    for path in sorted(make_base().glob("*.safetensors")):
        held = load_file(path)
        names = {"torch.bfloat16": "BF16", "torch.float16": "F16"}
        names |= {"torch.int32": "I32", "torch.int64": "I64"}
        specs = [Spec(n, names[str(t.dtype)], tuple(t.shape)) for n, t in held.items()]
        plan = layout(specs)
        data = save(held, metadata={"format": "pt"})
        assert data[: len(plan.header)] == plan.header and len(data) == plan.size


def test_a_missing_index_is_generated_from_the_headers(make_base):
    base = make_base()
    index = base / "model.safetensors.index.json"
    index.unlink()
    assert generate_base_files(base) == [index]
    written = json.loads(index.read_text())
    assert written["weight_map"]["lm_head.weight"] == "model-00007-of-00007.safetensors"
    assert written["weight_map"]["mtp.fc.weight"] == "model_extra_tensors.safetensors"
    assert generate_base_files(base) == []
