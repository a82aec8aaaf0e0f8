"""The quantizer against the reference packer, its error bound, and the corners of its scales."""

import numpy as np
import pytest
import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen3090_prepare.errors import PrepareError
from qwen3090_prepare.quantize import dequantize_rows, quantize_rows, round_scale, to_float32

BITS = st.sampled_from([4, 8])
SCALES = st.sampled_from(["F16", "BF16"])


@st.composite
def matrices(draw):
    """bf16 matrices [rows, 128 n] whose groups differ in size by many orders of magnitude."""
    rows, groups = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    exponents = rng.uniform(draw(st.sampled_from([-12, -6, -3])), 1.0, (rows, groups, 1))
    values = rng.standard_normal((rows, groups, 128)) * 10.0**exponents
    values[rng.random((rows, groups)) < 0.2] = 0.0
    plain = torch.from_numpy(values.reshape(rows, -1)).to(torch.bfloat16)
    return plain.float().numpy()


@given(matrices(), BITS, SCALES)
@settings(max_examples=150, deadline=None)
def test_layout_is_the_reference_packers(weights, bits, scale_dtype):
    packed, _ = quantize_rows(weights.copy(), bits, scale_dtype)
    words = torch.from_numpy(packed.view(np.int32).copy())
    codes = unpack_from_int32(words, bits, torch.Size(weights.shape))
    assert torch.equal(pack_to_int32(codes, bits), words)


@given(matrices(), BITS, SCALES)
@settings(max_examples=150, deadline=None)
def test_error_is_at_most_half_a_step_of_the_stored_scale(weights, bits, scale_dtype):
    packed, scales = quantize_rows(weights.copy(), bits, scale_dtype)
    codes = unpack_from_int32(
        torch.from_numpy(packed.view(np.int32).copy()), bits, torch.Size(weights.shape)
    ).numpy()
    steps = to_float32(scales.reshape(-1), scale_dtype)[:, None].astype(np.float64)
    error = codes.reshape(-1, 128) * steps - weights.reshape(-1, 128)
    assert (np.abs(error) <= 0.5 * steps * (1 + 1e-6)).all()
    assert codes.min() >= -(2 ** (bits - 1)) and codes.max() <= 2 ** (bits - 1) - 1
    exact = (codes.reshape(-1, 128) * steps).astype(np.float32).reshape(weights.shape)
    assert np.array_equal(dequantize_rows(packed, scales, bits, scale_dtype), exact)


@given(st.integers(0, 2**31), SCALES)
@settings(max_examples=100, deadline=None)
def test_scales_round_to_nearest_even(seed, scale_dtype):
    rng = np.random.default_rng(seed)
    exact = (10.0 ** rng.uniform(-9, 4, 256)).astype(np.float32)
    dtype = torch.float16 if scale_dtype == "F16" else torch.bfloat16
    wanted = torch.from_numpy(exact).to(dtype).view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(round_scale(exact, scale_dtype), np.maximum(wanted, 1))


def test_ordinary_groups_are_coded_as_the_plain_formula_says():
    weights = (np.random.default_rng(3).standard_normal((64, 256)) * 0.02).astype(np.float32)
    packed, scales = quantize_rows(weights.copy(), 8, "F16")
    steps = (torch.from_numpy(weights).view(-1, 128).abs().amax(1) / 127).half()
    assert np.array_equal(scales.reshape(-1), steps.view(torch.int16).numpy().view(np.uint16))
    codes = (torch.from_numpy(weights).view(-1, 128) / steps.float()[:, None]).round() + 128
    assert np.array_equal(packed.reshape(-1, 128), codes.to(torch.uint8).numpy())


def test_the_stored_scale_gives_a_smaller_error_than_the_unrounded_one():
    weights = (np.random.default_rng(5).standard_normal((512, 512)) * 0.02).astype(np.float32)
    packed, scales = quantize_rows(weights.copy(), 8, "BF16")
    ours = np.square(dequantize_rows(packed, scales, 8, "BF16") - weights).sum()
    groups = weights.reshape(-1, 128)
    exact = np.abs(groups).max(1, keepdims=True) / np.float32(127)
    stored = torch.from_numpy(exact).bfloat16().float().numpy()
    other = np.square(np.clip(np.rint(groups / exact), -128, 127) * stored - groups).sum()
    assert ours < 0.96 * other


@pytest.mark.parametrize("scale_dtype", ["F16", "BF16"])
@pytest.mark.parametrize("bits", [4, 8])
def test_a_group_of_zeros_stays_zero(bits, scale_dtype):
    packed, scales = quantize_rows(np.zeros((2, 128), np.float32), bits, scale_dtype)
    assert (to_float32(scales, scale_dtype) > 0).all()
    assert (dequantize_rows(packed, scales, bits, scale_dtype) == 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_with_its_row(bad):
    weights = np.ones((5, 256), np.float32)
    weights[3, 200] = bad
    with pytest.raises(PrepareError, match="row 3 holds a NaN or an infinity"):
        quantize_rows(weights, 8, "F16")


def test_a_scale_beyond_float16_is_refused():
    weights = np.full((2, 128), 9e6, np.float32)
    with pytest.raises(PrepareError, match="does not fit float16"):
        quantize_rows(weights.copy(), 8, "F16")
    quantize_rows(weights, 8, "BF16")


@pytest.mark.parametrize("bits", [4, 8])
def test_an_exact_tie_goes_to_the_even_code(bits):
    top = 2 ** (bits - 1) - 1
    weights = np.zeros((1, 128), np.float32)
    weights[0, :4] = [top, 0.5, 1.5, -2.5]
    packed, scales = quantize_rows(weights, bits, "F16")
    found = dequantize_rows(packed, scales, bits, "F16")[0, :4]
    assert found.tolist() == [top, 0.0, 2.0, -2.0]
