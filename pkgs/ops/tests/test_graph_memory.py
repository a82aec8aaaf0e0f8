"""The V2 runner counts CUDA graphs as the launcher tells it to (patch 0251)."""

from types import SimpleNamespace
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("config", "counted"),
    [({}, 0), ({"qwen3090": {"graph_bytes": 1_556_925_644}}, 1_556_925_644)],
)
def test_what_the_launcher_names_is_taken_off_the_pool(
    config: dict[str, Any], counted: int
) -> None:
    pytest.importorskip("vllm")
    from vllm.v1.worker.gpu.model_runner import GPUModelRunner

    runner = SimpleNamespace(vllm_config=SimpleNamespace(additional_config=config))
    assert GPUModelRunner.profile_cudagraph_memory(runner) == counted


def test_a_size_that_is_none_is_refused() -> None:
    pytest.importorskip("vllm")
    from vllm.v1.worker.gpu.model_runner import GPUModelRunner

    config = {"qwen3090": {"graph_bytes": "1GiB"}}
    runner = SimpleNamespace(vllm_config=SimpleNamespace(additional_config=config))
    with pytest.raises(ValueError, match="graph_bytes"):
        GPUModelRunner.profile_cudagraph_memory(runner)
