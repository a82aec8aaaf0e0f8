"""Which layers take int8 activations, by our function and by vLLM's own (patch 0232)."""

from typing import Any

import pytest
import torch
from qwen3090_ops.marlin.layers import INCLUDED, takes_int8

LAYERS = 64
MLP = [
    "model.layers.3.mlp.gate_up_proj",
    "model.layers.63.mlp.down_proj",
    "language_model.model.layers.0.mlp.down_proj",
]
OTHERS = [
    "model.layers.3.self_attn.qkv_proj",
    "model.layers.0.linear_attn.in_proj_qkvz",
    "language_model.model.layers.1.linear_attn.out_proj",
]
NEVER = [
    "lm_head",
    "language_model.lm_head",
    "model.embed_tokens",
    "mtp.layers.0.mlp.down_proj",
    "mtp.layers.0.self_attn.qkv_proj",
    "mtp.draft_lm_head",
    "mtp.fc",
    "model.fc",
    "model.layers.64.mlp.gate_up_proj",  # a DFlash2 drafter counts on from the target
    "model.layers.68.mlp.down_proj",
    "visual.blocks.3.mlp.linear_fc1",
    "",
]


def config(value: Any) -> dict[str, Any]:
    return {"qwen3090": {"int8_activations": value}}


@pytest.mark.parametrize(
    ("value", "taken"), [("none", []), ("mlp", MLP), ("all", MLP + OTHERS), (None, [])]
)
def test_a_value_takes_these_layers_and_no_others(value: str | None, taken: list[str]) -> None:
    given = {} if value is None else config(value)
    found = [name for name in MLP + OTHERS + NEVER if takes_int8(name, given, LAYERS)]
    assert found == taken


@pytest.mark.parametrize("value", ["", "MLP", True, 8])
def test_another_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"int8_activations.*none, mlp, all"):
        takes_int8(MLP[0], config(value), LAYERS)


@pytest.mark.parametrize("value", [*INCLUDED, None])
@pytest.mark.parametrize("switch", ["int8", None])
def test_vllm_asks_for_each_prefix_and_keeps_its_own_switch_without_the_knob(
    monkeypatch: pytest.MonkeyPatch, value: str | None, switch: str | None
) -> None:
    pytest.importorskip("vllm")
    from types import SimpleNamespace

    import vllm.config.vllm as current
    from vllm.model_executor.layers.quantization.utils.marlin_utils import get_marlin_input_dtype

    if switch is None:
        monkeypatch.delenv("VLLM_MARLIN_INPUT_DTYPE", raising=False)
    else:
        monkeypatch.setenv("VLLM_MARLIN_INPUT_DTYPE", switch)
    text = SimpleNamespace(num_hidden_layers=LAYERS)
    engine = SimpleNamespace(
        additional_config={} if value is None else config(value),
        model_config=SimpleNamespace(hf_text_config=text),
    )
    monkeypatch.setattr(current, "_current_vllm_config", engine)
    stock = None if switch is None else torch.int8
    for name in MLP + OTHERS + NEVER:
        ours = torch.int8 if takes_int8(name, engine.additional_config, LAYERS) else None
        assert get_marlin_input_dtype(name) is (stock if value is None or not name else ours)
    assert get_marlin_input_dtype() is stock
    monkeypatch.setattr(current, "_current_vllm_config", None)
    assert get_marlin_input_dtype(MLP[0]) is stock
