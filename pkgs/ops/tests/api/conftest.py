"""One server for all tests of this folder that need the real engine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .fake import KEY, OTHER
from .served import MODEL, Client


@pytest.fixture(scope="session")
def client(
    demo: Path, prepare: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    pytest.importorskip("vllm")
    server = pytest.importorskip("qwen3090.demo.server")
    folder = tmp_path_factory.mktemp("served")
    keys = folder / "keys"
    keys.write_text(f"# two\n{KEY}\n\n{OTHER}\n")
    keys.chmod(0o600)
    port = server.free_port()
    model = prepare(demo / "base", draft_vocab=demo / "overlay" / "mtp_draft_vocab_ids.pt")
    argv = server.command(model, port, keys)
    for setting in (
        f"served_name={MODEL}",
        "keep_alive_interval=0.05",
        "max_body_bytes=65536",
        "max_json_depth=20",
    ):
        argv += ["--set", setting]
    with server.running(argv, port, KEY, folder / "log"):
        yield Client(port, folder / "log")
