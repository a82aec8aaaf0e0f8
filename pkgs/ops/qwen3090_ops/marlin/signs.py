"""Makes the group scales of 4-bit weights positive, as Marlin's int8-activation kernel wants them.

With int8 activations Marlin rounds the scales to integers and reads them as unsigned; with a
negative scale (about half of AutoRound's symmetric ones) the product is garbage. Patch 0231 calls
this before vLLM pads and repacks the weights.
"""

import torch

_LOW_BITS = 0x11111111  # the lowest bit of each code
_PER_WORD = 8
_BLOCK_WORDS = 1 << 20  # int32 temporaries: a few times 4 MiB, whatever the weight


def make_scales_positive(
    codes: torch.Tensor, scales: torch.Tensor, *, zero_points: bool, has_g_idx: bool
) -> None:
    """Negate negative scales and the codes of their group and column, both in place.

    A code v (0 .. 15) stands for (v - 8) * scale and becomes min(16 - v, 15). All but code 0 stay
    exact; -8 has no opposite and becomes 7, an error of one |scale|. Doing it again changes
    nothing. A single group is left alone: Marlin keeps such scales as floats.

    Args:
        codes: int32 [in / 8, out], eight codes a word along the input, the lowest bits first.
            Any strides; vLLM's view of a checkpoint's [out, in / 8] is fine.
        scales: floating point [groups, out]; the groups are equal and in the order of the input.
        zero_points: whether the weights have zero points.
        has_g_idx: whether the groups are out of order (activation reordering).

    Raises:
        ValueError: shapes or dtypes do not fit, or a scale is negative beside zero points or
            reordered groups, for which no rule is known.
    """
    if scales.dim() == 2 and scales.shape[0] == 1:
        return
    _check(codes, scales)
    if not bool((scales < 0).any()):
        return
    if zero_points or has_g_idx:
        kind = "zero points" if zero_points else "activation reordering (g_idx)"
        raise ValueError(
            f"int8 activations: a 4-bit weight with {kind} has negative scales, which Marlin "
            "reads as unsigned; serve it with int8_activations = none"
        )
    words_a_group = codes.shape[0] // scales.shape[0]
    step = max(1, _BLOCK_WORDS // (words_a_group * codes.shape[1]))
    for first in range(0, scales.shape[0], step):
        block = scales[first : first + step]
        words = codes[first * words_a_group : (first + step) * words_a_group]
        negative = (block < 0).repeat_interleave(words_a_group, dim=0)
        words.copy_(torch.where(negative, _negate(words), words))
        block.abs_()


def _negate(words: torch.Tensor) -> torch.Tensor:
    """Return words whose eight codes v are min(16 - v, 15): 15 - v, plus 1 where v is not 0."""
    used = (words | words >> 1 | words >> 2 | words >> 3) & _LOW_BITS
    return ~words + used


def _check(codes: torch.Tensor, scales: torch.Tensor) -> None:
    if codes.dtype != torch.int32 or codes.dim() != 2 or not scales.is_floating_point():
        raise ValueError(
            f"codes must be int32 [in / {_PER_WORD}, out] and scales floating point, got "
            f"{codes.dtype} {tuple(codes.shape)} and {scales.dtype}"
        )
    if (
        scales.dim() != 2
        or scales.shape[0] == 0
        or scales.shape[1] != codes.shape[1]
        or codes.shape[0] % scales.shape[0]
    ):
        raise ValueError(
            f"scales {tuple(scales.shape)} do not fit codes {tuple(codes.shape)}: a group must be "
            f"a whole number of words of {_PER_WORD} codes"
        )
