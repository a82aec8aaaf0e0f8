"""Positive group scales for Marlin's int8 path: exact but for code 0, before padding and repack."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090_ops.marlin import signs


def pack(codes: torch.Tensor) -> torch.Tensor:
    """Return int32 [in / 8, out] of codes 0 .. 15 [in, out], lowest bits first along the input."""
    words = torch.zeros(codes.shape[0] // 8, codes.shape[1], dtype=torch.int64)
    for lane in range(8):
        words |= codes[lane::8].long() << (4 * lane)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def unpack(words: torch.Tensor) -> torch.Tensor:
    lanes = [words.long() >> (4 * lane) & 15 for lane in range(8)]
    return torch.stack(lanes, dim=1).reshape(-1, words.shape[1])


def dense(words: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    codes = unpack(words)
    group = codes.shape[0] // scales.shape[0]
    return (codes - 8).double() * scales.double().repeat_interleave(group, dim=0)


def made(
    groups: int, words: int, out: int, seed: int, dtype: torch.dtype = torch.bfloat16
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, 16, (groups * words * 8, out), generator=generator)
    scales = torch.randn(groups, out, generator=generator).to(dtype) * 0.01
    return pack(codes), scales


def positive(words: torch.Tensor, scales: torch.Tensor) -> None:
    signs.make_scales_positive(words, scales, zero_points=False, has_g_idx=False)


@settings(max_examples=60, deadline=None)
@given(
    groups=st.integers(2, 6),
    words=st.sampled_from([4, 8, 16]),
    out=st.integers(1, 40),
    seed=st.integers(0, 2**31),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32]),
)
def test_only_code_zero_of_a_negative_group_moves_and_by_one_step(
    groups: int, words: int, out: int, seed: int, dtype: torch.dtype
) -> None:
    packed, scales = made(groups, words, out, seed, dtype)
    before, size = dense(packed, scales), scales.abs().double()
    moved = (unpack(packed) == 0) & (scales < 0).repeat_interleave(words * 8, dim=0)
    new, positive_scales = packed.clone(), scales.clone()
    positive(new, positive_scales)
    error = (dense(new, positive_scales) - before).abs()
    assert torch.equal(positive_scales, scales.abs())
    assert torch.equal(error != 0, moved & (size.repeat_interleave(words * 8, dim=0) != 0))
    assert torch.all(error <= size.repeat_interleave(words * 8, dim=0))
    again, same = new.clone(), positive_scales.clone()
    positive(again, same)
    assert torch.equal(again, new) and torch.equal(same, positive_scales)


def test_each_code_of_a_negative_group() -> None:
    codes = torch.arange(16).repeat(2).view(32, 1)
    words, scales = pack(codes), torch.tensor([[-1.0], [1.0]])
    positive(words, scales)
    flipped = [15, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert unpack(words).flatten().tolist() == flipped + list(range(16))


def test_a_transposed_view_of_the_checkpoint_is_changed_in_place() -> None:
    words, scales = made(3, 16, 24, 5)
    stored, stored_scales = words.t().contiguous(), scales.t().contiguous()
    positive(words, scales)
    positive(stored.t(), stored_scales.t())
    assert torch.equal(stored.t(), words) and torch.equal(stored_scales.t(), scales)


def test_blocks_equal_one_block_and_bound_the_temporaries(monkeypatch: pytest.MonkeyPatch) -> None:
    words, scales = made(7, 16, 33, 8)
    whole, whole_scales = words.clone(), scales.clone()
    positive(whole, whole_scales)
    monkeypatch.setattr(signs, "_BLOCK_WORDS", 2 * 16 * 33)
    sizes, negate = [], signs._negate
    monkeypatch.setattr(signs, "_negate", lambda w: sizes.append(w.numel()) or negate(w))
    positive(words, scales)
    assert torch.equal(words, whole) and torch.equal(scales, whole_scales)
    assert sizes == [1056, 1056, 1056, 528]


def test_one_group_keeps_its_signs() -> None:
    words, scales = made(1, 16, 8, 3)
    before, old = words.clone(), scales.clone()
    positive(words, scales)
    assert torch.equal(words, before) and torch.equal(scales, old)


@pytest.mark.parametrize("reason", ["zero_points", "has_g_idx"])
def test_negative_scales_without_a_rule_are_refused_and_positive_ones_pass(reason: str) -> None:
    words, scales = made(2, 16, 8, 3)
    how: dict[str, Any] = {"zero_points": False, "has_g_idx": False} | {reason: True}
    with pytest.raises(ValueError, match="int8_activations = none"):
        signs.make_scales_positive(words, scales, **how)
    before = words.clone()
    signs.make_scales_positive(words, scales.abs(), **how)
    assert torch.equal(words, before)


@pytest.mark.parametrize(
    ("words", "scales"),
    [
        (torch.zeros(32, 8, dtype=torch.int64), torch.ones(2, 8)),
        (torch.zeros(32, 8, dtype=torch.int32), torch.ones(2, 8, dtype=torch.int32)),
        (torch.zeros(32, 8, dtype=torch.int32), torch.ones(2, 7)),
        (torch.zeros(32, 8, dtype=torch.int32), torch.ones(3, 8)),
        (torch.zeros(32, 8, dtype=torch.int32), torch.ones(0, 8)),
        (torch.zeros(32, dtype=torch.int32), torch.ones(2, 8)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(words: torch.Tensor, scales: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"codes|scales"):
        positive(words, scales)


class Repacked(Exception):
    """Ends the loading of a layer where Marlin's own kernel would start."""


@pytest.mark.parametrize("act_type", [torch.int8, torch.bfloat16])
@pytest.mark.parametrize(("size_n", "size_k"), [(128, 512), (96, 384), (136, 256)])
def test_vllm_repacks_positive_scales_with_int8_activations_alone(
    monkeypatch: pytest.MonkeyPatch, act_type: torch.dtype, size_n: int, size_k: int
) -> None:
    """Sizes beside Marlin's tiles (what tensor parallelism leaves) are padded after our change."""
    pytest.importorskip("vllm")
    from vllm.model_executor.kernels.linear.mixed_precision import marlin
    from vllm.model_executor.kernels.linear.mixed_precision.MPLinearKernel import (
        MPLinearLayerConfig,
    )
    from vllm.model_executor.parameter import GroupQuantScaleParameter, PackedvLLMParameter
    from vllm.scalar_type import scalar_types

    words, scales = made(size_k // 128, 16, size_n, 4)
    seen: dict[str, torch.Tensor] = {}

    def repack(weight: torch.Tensor, **_: Any) -> torch.Tensor:
        seen["words"] = weight
        return weight

    def permute(found: torch.Tensor, **_: Any) -> torch.Tensor:
        seen["scales"] = found
        raise Repacked

    monkeypatch.setattr(marlin, "ops", SimpleNamespace(gptq_marlin_repack=repack))
    monkeypatch.setattr(marlin, "marlin_make_workspace_new", lambda *_, **__: None)
    monkeypatch.setattr(marlin, "marlin_permute_scales", permute)
    layer = torch.nn.Module()
    common: dict[str, Any] = {"input_dim": 1, "output_dim": 0, "weight_loader": lambda *_: None}
    monkeypatch.setattr("vllm.model_executor.parameter.get_tensor_model_parallel_rank", lambda: 0)
    monkeypatch.setattr(
        "vllm.model_executor.parameter.get_tensor_model_parallel_world_size", lambda: 1
    )
    layer.register_parameter(
        "q",
        PackedvLLMParameter(data=words.t().contiguous(), packed_dim=1, packed_factor=8, **common),
    )
    layer.register_parameter("s", GroupQuantScaleParameter(data=scales.t().contiguous(), **common))
    config = MPLinearLayerConfig(
        full_weight_shape=(size_k, size_n),
        partition_weight_shape=(size_k, size_n),
        weight_type=scalar_types.uint4b8,
        act_type=act_type,
        group_size=128,
        zero_points=False,
        has_g_idx=False,
    )
    monkeypatch.setattr(marlin.MarlinLinearKernel, "can_implement", lambda *_: (True, None))
    kernel = marlin.MarlinLinearKernel(config, "q", "s")
    with pytest.raises(Repacked):
        kernel.process_weights_after_loading(layer)
    if act_type is torch.int8:
        positive(words, scales)
    assert torch.equal(seen["words"][: size_k // 8, :size_n], words)
    assert torch.equal(seen["scales"][: size_k // 128, :size_n], scales)
    assert bool((seen["scales"] < 0).any()) is (act_type is torch.bfloat16)
