"""One made checkpoint for all tests of the demo."""

from pathlib import Path

import pytest
from qwen3090.demo import TinyPaths, make


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyPaths:
    directory: Path = tmp_path_factory.mktemp("tiny")
    return make(directory)
