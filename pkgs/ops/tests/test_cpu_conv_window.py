"""The convolution window of a speculative step on the CPU, as patched, against a plain history."""

import pytest
import torch

pytestmark = [pytest.mark.engine, pytest.mark.slow]

WIDTH, DRAFTS, DIM = 4, 3, 5


@pytest.mark.parametrize("steps", [[4, 4, 4], [4, 3, 2, 1], [1, 1, 4], [2, 4, 3]])
@pytest.mark.parametrize("accept", ["all", "one", "mixed"])
def test_each_acceptance_finds_the_last_inputs(steps: list[int], accept: str) -> None:
    """After every step, for every number of accepted tokens, the window is the last 3 inputs."""
    pytest.importorskip("vllm")
    from vllm.model_executor.layers.mamba.ops.cpu.gdn_attention import roll_conv_state

    generator = torch.Generator().manual_seed(7)
    history = torch.randn(DIM, WIDTH - 1, generator=generator)
    buffer = torch.full((DIM, WIDTH - 1 + DRAFTS), float("nan"))
    buffer[:, : WIDTH - 1] = history
    offset = 0
    for number, count in enumerate(steps):
        tokens = torch.randn(DIM, count, generator=generator)
        prior = buffer[:, offset : offset + WIDTH - 1]
        assert torch.equal(prior, history[:, -(WIDTH - 1) :])
        roll_conv_state(buffer, prior, tokens)
        sequence = torch.cat([history, tokens], dim=-1)
        for accepted in range(1, count + 1):
            end = history.size(1) + accepted
            found = buffer[:, accepted - 1 : accepted - 1 + WIDTH - 1]
            assert torch.equal(found, sequence[:, end - (WIDTH - 1) : end])
        accepted = {"all": count, "one": 1, "mixed": 1 + number % count}[accept]
        history = sequence[:, : history.size(1) + accepted]
        offset = accepted - 1
