"""These files need Triton's interpreter; `test_interpreted.py` runs them with it."""

import os

import pytest

collect_ignore_glob = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["test_*.py"]


@pytest.fixture
def uva(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep vLLM's host-mapped buffers in plain memory, as its CPU worker does."""
    from vllm.v1.worker.cpu.buffer_utils import UvaBuffer
    from vllm.v1.worker.gpu import buffer_utils

    monkeypatch.setattr(buffer_utils, "UvaBuffer", UvaBuffer)
