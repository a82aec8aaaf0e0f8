"""One stock and one patched vLLM for all engine tests of the plan: an import takes 20 seconds."""

from collections.abc import Iterator

import pytest

from .engine_process import Asks, run_engines
from .engine_trees import installed_vllm


@pytest.fixture(scope="session")
def asks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asks]:
    """Yield a function that puts a case to ``stock`` or ``hybrid``."""
    package = installed_vllm()
    if package is None:
        pytest.skip("no vLLM in this environment: qwen3090 setup")
    yield from run_engines(package, tmp_path_factory.mktemp("vllm"))
