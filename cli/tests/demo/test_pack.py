"""The packed layout and the signed scales, against a plain unpacking."""

import numpy as np
import pytest
from numpy.typing import NDArray
from qwen3090.demo import pack


def unpack(words: NDArray[np.int32], bits: int) -> NDArray[np.int64]:
    """Element i of a row is in word i // n at bit (i % n) * bits, as code + 2^(bits-1)."""
    out = np.empty((len(words), words.shape[1] * 32 // bits), dtype=np.int64)
    for column in range(out.shape[1]):
        word, place = divmod(column, 32 // bits)
        stored = (words[:, word].view(np.uint32) >> np.uint32(place * bits)) & (2**bits - 1)
        out[:, column] = stored.astype(np.int64) - 2 ** (bits - 1)
    return out


@pytest.mark.parametrize("bits", [4, 8])
def test_pack_codes(bits: int) -> None:
    top = 2 ** (bits - 1)
    codes = np.random.default_rng(0).integers(-top, top, size=(3, 256))
    assert np.array_equal(unpack(pack.pack_codes(codes, bits), bits), codes)


def test_signed_scale_meets_the_largest_weight_with_code_minus_eight() -> None:
    weight = np.random.default_rng(1).normal(size=(64, 256)).astype(np.float32)
    words, scale, shape = pack.signed_int4(weight)
    codes = unpack(words, 4).reshape(64, 2, 128)
    groups = weight.reshape(64, 2, 128)
    peak = np.abs(groups).argmax(2)[..., None]
    assert (np.take_along_axis(codes, peak, 2) == -8).all()
    signs = np.sign(np.take_along_axis(groups, peak, 2))[..., 0]
    assert np.array_equal(np.sign(scale), -signs)
    assert shape.tolist() == [64, 256]
    error = np.abs(codes * scale.astype(np.float32)[..., None] - groups)
    step = np.abs(scale.astype(np.float32))[..., None]
    assert (error <= step * 1.01).all() and (error <= step * 0.51).mean() > 0.95


def test_a_group_of_zeros_has_a_normal_scale_and_code_zero() -> None:
    words, scale, _ = pack.plain_int4(np.zeros((2, 128), dtype=np.float32))
    assert (scale > 0).all() and (unpack(words, 4) == 0).all()
