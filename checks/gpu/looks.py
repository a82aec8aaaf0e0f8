"""What a GPU check wants to know about loaded models: methods, bytes, and answers of single layers.

The embedding is compared in place with torch's own unpacking of its rows; the rest is saved for
compare.py, which has a dense twin of the same checkpoint beside it.
"""

from typing import Any

import torch


def parts(runner: Any) -> tuple[Any, Any]:
    """Return the language model and the drafter (or None)."""
    target = runner.get_model()
    language = target.get_language_model() if hasattr(target, "get_language_model") else target
    return language, getattr(getattr(runner, "speculator", None), "model", None)


def _method(layer: Any) -> str:
    kernel = getattr(getattr(layer, "scheme", None), "kernel", None)
    return type(kernel or layer.quant_method).__name__


def _line(name: str, layer: Any) -> str:
    size = sum(p.nbytes for p in layer.parameters())
    return f"{name}: {_method(layer)}, {size:,} bytes"


def facts(runner: Any) -> list[str]:
    """Return lines: what computes each of the layers that the series touches, and its bytes."""
    language, drafter = parts(runner)
    embed, head = language.model.embed_tokens, language.lm_head
    found = [_line("embedding", embed), _line("head", head)]
    if hasattr(embed, "weight_packed"):
        found.append(f"embedding equals torch's unpacking: {_embedding_is_exact(embed)}")
    if drafter is None:
        return found
    shared = drafter.model.embed_tokens is embed and drafter.lm_head is head
    found.append(f"drafter: {type(drafter).__name__}, shares embedding and head: {shared}")
    found.append(_line("drafter qkv of layer 0", drafter.model.layers[0].self_attn.qkv_proj))
    found.append(_line("drafter fc", drafter.model.fc))
    if (vocabulary := getattr(drafter, "draft_vocab", None)) is not None:
        found.append(f"draft vocabulary: {vocabulary.size} ids on {vocabulary.ids.device}")
        found.append(_line("draft head", drafter.model.draft_lm_head))
    own = {id(p) for p in runner.get_model().parameters()}
    size = sum(p.nbytes for p in drafter.parameters() if id(p) not in own)
    found.append(f"drafter: {size:,} bytes of its own")
    return found


def _embedding_is_exact(embed: Any) -> bool:
    ids = torch.arange(0, embed.num_embeddings, 97, device=embed.weight_packed.device)
    words, scale = embed.weight_packed[ids], embed.weight_scale[ids]
    lanes = [(words >> shift & 255) - 128 for shift in range(0, 32, 8)]
    codes = torch.stack(lanes, -1).view(len(ids), -1).float()
    rows = codes * scale.float().repeat_interleave(128, 1)
    return torch.equal(embed(ids), rows.to(scale.dtype))


@torch.no_grad()
def probes(runner: Any) -> dict[str, torch.Tensor]:
    """Return answers of single layers to fixed input, float32 on the CPU."""
    language, drafter = parts(runner)
    table = language.model.embed_tokens
    ids = torch.arange(0, table.num_embeddings, 97, device="cuda")
    hidden = torch.randn(4, table.embedding_dim, generator=torch.Generator().manual_seed(11))
    hidden = hidden.to("cuda", torch.bfloat16)
    found = {"embedding": table(ids)[:, :64]}
    found["head"] = language.compute_logits(hidden)
    name = type(drafter).__name__
    if name == "Qwen3_5MTP":
        found["draft logits"] = drafter.compute_logits(hidden)
        found["draft top"] = drafter.get_top_tokens(hidden)
        layer = drafter.model.layers[0]
        found["mtp qkv"] = layer.self_attn.qkv_proj(hidden)[0]
        found["mtp gate_up"] = layer.mlp.gate_up_proj(hidden)[0]
        found["mtp fc"] = drafter.model.fc(torch.cat([hidden, hidden.flip(0)], -1))
    elif drafter is not None:
        found["context kv"] = drafter.model._fused_kv_weight[::7, :256]
        found["context kv all finite"] = drafter.model._fused_kv_weight.isfinite().all()
        found["drafter qkv"] = drafter.model.layers[0].self_attn.qkv_proj(hidden)[0]
    return {key: value.float().cpu() for key, value in found.items()}
