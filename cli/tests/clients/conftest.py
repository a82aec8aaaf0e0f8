"""Boots the servers that all tests of this folder ask; that takes most of their time.

One serves the demo's checkpoint, with MTP drafts. QWEN3090_TINY_TRAINED names a small trained
checkpoint of the architecture: it is served with a prefix cache, for what needs an answer with a
meaning, and without the variable those tests are skipped.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .served import NAME, Served


@contextmanager
def serving(folder: Path, model: Path, context: int, *sets: str) -> Iterator[Served]:
    from qwen3090.demo import server

    port, key = server.free_port(), server.write_key(folder / "key")
    argv = server.command(model, port, folder / "key")
    for item in (f"served_name={NAME}", f"context={context}", *sets):
        argv += ["--set", item]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"QWEN3090_STATE": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder)}
    with server.running(argv, port, key, folder / "log", environment):
        yield Served(port, key, folder / "log", context)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo, as its profile says."""
    pytest.importorskip("vllm")
    prepare = pytest.importorskip("qwen3090_prepare")
    from qwen3090.demo import make

    folder = tmp_path_factory.mktemp("clients")
    made = make(folder / "demo")
    prepare.run(made.base, folder / "prepared", draft_vocab=made.draft_vocab)
    with serving(folder, folder / "prepared", 2048) as found:
        yield found


@pytest.fixture(scope="session")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model answers what it is asked, with a prefix cache."""
    pytest.importorskip("vllm")
    if not (model := os.environ.get("QWEN3090_TINY_TRAINED")):
        pytest.skip("QWEN3090_TINY_TRAINED is not set")
    folder = tmp_path_factory.mktemp("reads")
    with serving(folder, Path(model), 4096, "speculation=none", "prefix_cache=true") as found:
        yield found
