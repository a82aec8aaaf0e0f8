"""vLLM's CPU stand-ins for sampling kernels, as patched: values must reach the caller's tensor."""

import pytest
import torch

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (torch.tensor([0.7, -1.0, 0.25]), torch.tensor([0.7, 0.7, 0.25])),
        (torch.tensor([20, -1, 7], dtype=torch.int32), torch.tensor([20, 20, 7])),
        (torch.tensor([-1.0, 0.5, -1.0]), torch.tensor([1.0, 1.0, 1.0])),
    ],
)
@pytest.mark.parametrize("counts_dtype", [torch.int32, torch.int64])
def test_parameters_are_expanded_to_tokens(
    values: torch.Tensor, expected: torch.Tensor, counts_dtype: torch.dtype
) -> None:
    """Three requests with two, no and one draft; -1 (greedy) becomes 1."""
    pytest.importorskip("vllm")
    from vllm.utils.cpu_triton_utils import expand_kernel

    output = torch.full((3,), 99, dtype=values.dtype)
    cumulative = torch.tensor([2, 2, 3], dtype=counts_dtype)
    expand_kernel[(3,)](output, values, cumulative, -1, 1, MAX_NUM_TOKENS=32)
    assert torch.equal(output, expected.to(values.dtype))
