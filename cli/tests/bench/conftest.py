"""Starts the stub server and runs ``qwen3090 bench`` against it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from qwen3090.demo.server import free_port
from qwen3090.main import cli

STUB = Path(__file__).with_name("stub_server.py")
pytest.importorskip("httpx")
pytest.importorskip("prometheus_client")


@dataclass
class Stub:
    """A running stub server and the folder of its log."""

    url: str
    folder: Path

    def sent(self) -> list[dict[str, Any]]:
        """Return what it streamed, with the times at which it did."""
        path = self.folder / "sent.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def bench(self, *words: object) -> Result:
        """Run ``qwen3090 bench`` against it."""
        return bench(words[0], "--url", self.url, *words[1:])


def bench(*words: object) -> Result:
    """Run ``qwen3090 bench`` in this process."""
    return CliRunner().invoke(cli, ["bench", *map(str, words)])


@contextmanager
def starting(folder: Path) -> Iterator[Callable[..., Stub]]:
    """Give a function that starts a stub with settings (see stub_server.py); all end here."""
    import httpx

    started: list[subprocess.Popen[bytes]] = []

    def start(**settings: Any) -> Stub:
        port, own = free_port(), folder / f"stub{len(started)}"
        own.mkdir()
        words = [str(STUB), str(port), str(own), json.dumps(settings)]
        started.append(subprocess.Popen([sys.executable, *words]))
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 30
        while True:
            try:
                httpx.get(f"{url}/version", trust_env=False)
            except httpx.TransportError:
                assert time.monotonic() < deadline and started[-1].poll() is None
                time.sleep(0.05)
            else:
                return Stub(url, own)

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine that runs the tests be busy; what the check refuses has a test of its own."""
    monkeypatch.setattr("qwen3090.bench.counters.LATE_SECONDS", 3.0)


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Callable[..., Stub]]:
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def shared_stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Stub]]:
    with starting(tmp_path_factory.mktemp("stub")) as start:
        yield start
