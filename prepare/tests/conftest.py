"""A tiny base and overlay in the published layout, so that tests need nothing from outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

HIDDEN, INNER, VOCAB, HEADS, KV, HEAD = 256, 384, 512, 2, 1, 128
KINDS = ["linear_attention", "linear_attention", "linear_attention", "full_attention"]
BODY = "model.language_model."
ATTENTION = {
    "self_attn.q_proj": (2 * HEADS * HEAD, HIDDEN),
    "self_attn.k_proj": (KV * HEAD, HIDDEN),
    "self_attn.v_proj": (KV * HEAD, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HEADS * HEAD),
}
MLP = {
    "mlp.gate_proj": (INNER, HIDDEN),
    "mlp.up_proj": (INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}
GDN = {"linear_attn.in_proj_qkv": (HIDDEN, HIDDEN), "linear_attn.out_proj": (HIDDEN, HIDDEN)}

Tensors = dict[str, torch.Tensor]


def text_config() -> dict[str, Any]:
    return {
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "vocab_size": VOCAB,
        "num_hidden_layers": len(KINDS),
        "layer_types": KINDS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV,
        "head_dim": HEAD,
        "attn_output_gate": True,
        "mtp_num_hidden_layers": 1,
    }


def group(target: str, bits: int) -> dict[str, Any]:
    weights = {"num_bits": bits, "type": "int", "symmetric": True, "group_size": 128}
    weights |= {"strategy": "group"}
    return {"format": "pack-quantized", "targets": [target], "weights": weights}


def packed(name: str, rows: int, width: int, bits: int, scale: torch.dtype) -> Tensors:
    return {
        f"{name}.weight_packed": torch.randint(-(2**31), 2**31 - 1, (rows, width * bits // 32)).to(
            torch.int32
        ),
        f"{name}.weight_scale": (torch.randn(rows, width // 128) * 0.01).to(scale),
        f"{name}.weight_shape": torch.tensor([rows, width], dtype=torch.int64),
    }


def bf16(*shape: int) -> torch.Tensor:
    return (torch.randn(*shape) * 0.02).to(torch.bfloat16)


def base_shards() -> dict[str, Tensors]:
    torch.manual_seed(7)
    shards: dict[str, Tensors] = {
        "1": {"model.visual.blocks.0.attn.qkv.weight": bf16(192, 64)},
        **{str(i): {} for i in (2, 3, 4, 5)},
    }
    for layer, kind in enumerate(KINDS):
        prefix, shard = f"{BODY}layers.{layer}.", shards[str(layer + 2)]
        linears = {**(ATTENTION if kind == "full_attention" else GDN), **MLP}
        for name, (rows, width) in linears.items():
            shard |= packed(prefix + name, rows, width, 4, torch.float16)
        shard[f"{prefix}input_layernorm.weight"] = bf16(HIDDEN)
    shards["6"] = {
        f"{BODY}embed_tokens.weight": bf16(VOCAB, HIDDEN),
        f"{BODY}norm.weight": bf16(HIDDEN),
    }
    shards["7"] = {"lm_head.weight": bf16(VOCAB, HIDDEN)}
    files = {f"model-0000{n}-of-00007.safetensors": t for n, t in shards.items()}
    extra = {"mtp.fc.weight": bf16(HIDDEN, 2 * HIDDEN), "mtp.norm.weight": bf16(HIDDEN)}
    extra |= {f"mtp.layers.0.{n}.weight": bf16(*s) for n, s in {**ATTENTION, **MLP}.items()}
    return {**files, "model_extra_tensors.safetensors": extra}


def write(directory: Path, files: dict[str, Tensors], config: Any, listed: set[str]) -> Path:
    directory.mkdir(parents=True)
    for name, tensors in files.items():
        save_file(tensors, directory / name)
    weight_map = {t: name for name, ts in files.items() if name in listed for t in ts}
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    (directory / "config.json").write_text(json.dumps(config))
    return directory


def base_config() -> dict[str, Any]:
    ignore = ["model.visual.blocks.0.attn.qkv", "lm_head"]
    section = {"config_groups": {"group_0": group("Linear", 4)}, "ignore": ignore}
    section |= {"quant_method": "compressed-tensors", "format": "pack-quantized"}
    return {"text_config": text_config(), "quantization_config": section}


@pytest.fixture
def make_base(tmp_path: Path) -> Callable[..., Path]:
    """Return a factory: shards, tokenizer, config; the index leaves the extra file out."""

    def make(
        name: str = "base",
        change: Callable[[dict[str, Tensors]], None] = lambda _: None,
    ) -> Path:
        files = base_shards()
        change(files)
        listed = {file for file in files if "extra" not in file}
        directory = write(tmp_path / name, files, base_config(), listed)
        vocabulary = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}
        (directory / "tokenizer.json").write_text(json.dumps(vocabulary))
        (directory / "chat_template.jinja").write_text("{{ messages }}")
        return directory

    return make


@pytest.fixture
def make_overlay(tmp_path: Path) -> Callable[..., Path]:
    """Return a factory for the fast variant's files: int4 head, MTP and draft head, ids, config."""

    def make(
        name: str = "overlay",
        change: Callable[[dict[str, Tensors]], None] = lambda _: None,
        head_bits: int = 4,
    ) -> Path:
        torch.manual_seed(11)
        ids = torch.arange(0, VOCAB, 4)
        extra: Tensors = {"mtp.norm.weight": bf16(HIDDEN)}
        linears = {f"mtp.layers.0.{n}": s for n, s in {**ATTENTION, **MLP}.items()}
        linears |= {"mtp.fc": (HIDDEN, 2 * HIDDEN), "mtp.draft_lm_head": (len(ids), HIDDEN)}
        for module, (rows, width) in linears.items():
            extra |= packed(module, rows, width, 4, torch.float16)
        files = {
            "model-00007-of-00007.safetensors": packed(
                "lm_head", VOCAB, HIDDEN, head_bits, torch.float16
            ),
            "model_extra_tensors.safetensors": extra,
        }
        change(files)
        config = base_config()
        section = config["quantization_config"]
        section["ignore"] = section["ignore"][:-1]
        section["config_groups"] |= {
            "group_1": group("re:.*lm_head$", head_bits),
            "group_2": group("re:.*embed_tokens$", 8),
            "group_3": group(r"re:^mtp\..*", 4),
        }
        directory = write(tmp_path / name, files, config, set(files))
        torch.save(ids, directory / "mtp_draft_vocab_ids.pt")
        return directory

    return make


@pytest.fixture
def ids_file(tmp_path: Path) -> Path:
    """Return a list of 128 token ids."""
    path = tmp_path / "ids.pt"
    torch.save(torch.arange(3, VOCAB, 4)[:120], path)
    return path
