"""What a test wants to know about loaded models: which code computes them, and what it answers.

Token ids alone would not do: the demo checkpoint's winners lead by far, whatever a layer adds.
"""

import torch


def parts(runner):
    """Return the target's language model and the drafter (or None) of either model runner."""
    target = runner.get_model()
    language = target.get_language_model() if hasattr(target, "get_language_model") else target
    speculator = getattr(runner, "drafter", None) or getattr(runner, "speculator", None)
    return language, getattr(speculator, "model", None)


def method_of(layer):
    """Name what computes a layer: its mixed-precision kernel, or its quantization method."""
    kernel = getattr(getattr(layer, "scheme", None), "kernel", None)
    return type(kernel or layer.quant_method).__name__


def facts(runner):
    """Describe the loaded target and drafter."""
    language, drafter = parts(runner)
    embed = language.model.embed_tokens
    found = {
        "runner": type(runner).__module__,
        "embed": method_of(embed),
        "head": method_of(language.lm_head),
        "embed_bytes": sum(p.nbytes for p in embed.parameters()),
    }
    if drafter is None:
        return found
    found["drafter"] = type(drafter).__name__
    found["shares_embed"] = drafter.model.embed_tokens is embed
    found["shares_head"] = drafter.lm_head is language.lm_head
    found["drafter_qkv"] = method_of(drafter.model.layers[0].self_attn.qkv_proj)
    if vocabulary := getattr(drafter, "draft_vocab", None):
        found["draft_vocab"] = vocabulary.size
        found["draft_head"] = method_of(drafter.model.draft_lm_head)
    return found


def _ask(layer, generator, rows=3):
    """Return a linear layer's first columns for fixed random input."""
    width = getattr(layer, "input_size", None) or layer.embedding_dim
    x = torch.randn(rows, width, generator=generator).to(torch.bfloat16)
    if hasattr(layer, "embedding_dim"):
        return layer.quant_method.apply(layer, x)[:, :64]
    answered = layer(x)
    return (answered[0] if isinstance(answered, tuple) else answered)[:, :64]


@torch.no_grad()
def probes(runner):
    """Return {name: rows of floats}; -inf is written as None."""
    language, drafter = parts(runner)
    table = language.model.embed_tokens
    found = {"embed": table(torch.arange(0, table.num_embeddings, 97))[:, :64]}
    generator = torch.Generator().manual_seed(11)
    found["head"] = _ask(language.lm_head, generator)
    if drafter is not None:
        layer = drafter.model.layers[0]
        names = {"fc": drafter.model.fc, "qkv": layer.self_attn.qkv_proj}
        names |= {"o": layer.self_attn.o_proj, "down": layer.mlp.down_proj}
        names["gate_up"] = layer.mlp.gate_up_proj
        found |= {f"drafter.{name}": _ask(each, generator) for name, each in names.items()}
        if hasattr(drafter.model, "_fused_kv_weight"):
            found["drafter.context"] = drafter.model._fused_kv_weight[::7, :64]
        if type(drafter).__name__ == "Qwen3_5MTP":
            hidden = torch.randn(3, drafter.config.hidden_size, generator=generator)
            hidden = hidden.to(torch.bfloat16)
            found["draft_logits"] = drafter.compute_logits(hidden)
            found["draft_top"] = drafter.get_top_tokens(hidden).unsqueeze(-1)
    return {name: _rows(tensor) for name, tensor in found.items()}


def _rows(tensor):
    finite = torch.isfinite(tensor.float())
    rows = zip(tensor.float().tolist(), finite.tolist(), strict=True)
    return [[v if ok else None for v, ok in zip(*row, strict=True)] for row in rows]
