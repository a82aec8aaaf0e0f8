"""One made checkpoint for all tests of the demo, and the plain reading of it."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from qwen3090.demo import TinyPaths, make


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyPaths:
    directory: Path = tmp_path_factory.mktemp("tiny")
    return make(directory)


@pytest.fixture(scope="session")
def reference() -> Any:
    """The module reference.py: tests here are no package, so it is loaded by its path."""
    path = Path(__file__).with_name("reference.py")
    spec = importlib.util.spec_from_file_location("demo_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def render(reference: Any) -> Any:
    return reference.render
