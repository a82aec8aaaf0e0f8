"""Dequantization with torch: exact against a slow reference, and equal to vLLM's own lookup."""

import pytest
import torch
from qwen3090_ops import packed


def quantize(
    rows: int, columns: int, bits: int, scale_dtype: torch.dtype, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return packed words, scales of both signs, and the dense float64 weight."""
    generator = torch.Generator().manual_seed(seed)
    half, factor = 1 << (bits - 1), 32 // bits
    codes = torch.randint(-half, half, (rows, columns), generator=generator)
    codes[0, :2] = torch.tensor([-half, half - 1])
    scale = (torch.rand(rows, columns // 128, generator=generator) * 0.02 + 0.001).to(scale_dtype)
    scale[::2] *= -1
    words = torch.zeros(rows, columns // factor, dtype=torch.int64)
    for column in range(columns):
        words[:, column // factor] += (codes[:, column] + half) << (column % factor * bits)
    words = torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)
    dense = codes.double() * scale.double().repeat_interleave(128, dim=1)
    return words, scale, dense


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dequantize_rounds_once(bits: int, dtype: torch.dtype) -> None:
    words, scale, dense = quantize(33, 384, bits, torch.float16)
    assert torch.equal(packed.dequantize(words, scale, bits, dtype), dense.float().to(dtype))


def test_dequantize_in_blocks_equals_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    words, scale, dense = quantize(37, 256, 8, torch.bfloat16)
    monkeypatch.setattr(packed, "_BLOCK_ELEMENTS", 1000)
    assert torch.equal(packed.dequantize(words, scale, 8, torch.float32), dense.float())


@pytest.mark.parametrize("bits", [4, 8])
def test_gather_rows_is_bit_exact_in_bf16(bits: int) -> None:
    words, scale, dense = quantize(512, 256, bits, torch.bfloat16)
    ids = torch.tensor([0, 511, 3, 3, 77])
    assert torch.equal(
        packed.gather_rows(ids, words, scale, bits), dense.float().to(torch.bfloat16)[ids]
    )
    assert packed.gather_rows(ids[:0], words, scale, bits).shape == (0, 256)


def test_gather_rows_refuses_an_id_outside_the_table() -> None:
    words, scale, _ = quantize(8, 256, 8, torch.bfloat16)
    with pytest.raises(IndexError):
        packed.gather_rows(torch.tensor([8]), words, scale, 8)


def test_context_rows_ignores_weight_shape_and_leaves_queries_out() -> None:
    words, scale, dense = quantize(48, 256, 4, torch.float16)
    layer = torch.nn.Module()
    layer.weight_packed = torch.nn.Parameter(words, requires_grad=False)
    layer.weight_scale = torch.nn.Parameter(scale, requires_grad=False)
    layer.weight_shape = torch.nn.Parameter(torch.tensor([8, 256]), requires_grad=False)
    rows = packed.context_rows(layer, 32, 256, torch.bfloat16)
    assert torch.equal(rows, dense.float().to(torch.bfloat16)[32:])


def test_a_repacked_weight_is_refused() -> None:
    layer = torch.nn.Module()
    layer.weight_packed = torch.nn.Parameter(
        torch.zeros(16, 96, dtype=torch.int32), requires_grad=False
    )
    layer.weight_scale = torch.nn.Parameter(torch.ones(2, 48), requires_grad=False)
    with pytest.raises(ValueError, match="not in the checkpoint's layout"):
        packed.context_rows(layer, 0, 256, torch.float32)


@pytest.mark.parametrize(
    ("words", "scale", "bits"),
    [
        (torch.zeros(4, 8, dtype=torch.int64), torch.ones(4, 1), 8),
        (torch.zeros(4, 8, dtype=torch.int32), torch.ones(3, 1), 8),
        (torch.zeros(4, 8, dtype=torch.int32), torch.ones(4, 5), 8),
        (torch.zeros(4, 8, dtype=torch.int32), torch.ones(4, 0), 8),
        (torch.zeros(4, 8, dtype=torch.int32), torch.ones(4, 1), 3),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    words: torch.Tensor, scale: torch.Tensor, bits: int
) -> None:
    with pytest.raises(ValueError, match=r"weight_|bits"):
        packed.dequantize(words, scale, bits, torch.float32)
