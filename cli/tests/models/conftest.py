"""A local hub and synthetic repositories for the model tests: nothing here uses the network."""

import hashlib
import importlib.util
import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qwen3090.models.fetch import FetchOptions, fetch
from qwen3090.models.hub import Hub
from qwen3090.models.manifest import Manifest
from qwen3090.models.store import Store

REPOSITORY = "owner/model"
REVISION = "a" * 40


def _hub_module() -> Any:
    path = Path(__file__).with_name("hub_server.py")
    spec = importlib.util.spec_from_file_location("qwen3090_test_hub_server", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


HUB = _hub_module()


def weights(names: dict[str, int], seed: int = 0) -> bytes:
    """Return a safetensors file of U8 tensors: name -> length in bytes."""
    header: dict[str, Any] = {}
    end = 0
    for name, length in names.items():
        header[name] = {"dtype": "U8", "shape": [length], "data_offsets": [end, end + length]}
        end += length
    raw = json.dumps(header).encode()
    body = hashlib.shake_128(b"%d" % seed).digest(end)
    return struct.pack("<Q", len(raw)) + raw + body


def entry(path: str, content: bytes) -> dict[str, Any]:
    """Return the manifest's line of a file."""
    return {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def manifest_of(files: dict[str, bytes], name: str = "base", generated: bool = True) -> Manifest:
    """Return a manifest with one repository and one variant of that name."""
    made = [
        {
            "path": "model.safetensors.index.json",
            "generated_by": "safetensors-index",
            "reason": "test",
        }
    ]
    repository = {
        "repository": REPOSITORY,
        "revision": REVISION,
        "purpose": "test",
        "files": [entry(path, content) for path, content in files.items()],
        "generated": made if generated else [],
    }
    variant = {"repositories": [name], "prepared_bytes": 1000, "purpose": "test"}
    return Manifest.model_validate(
        {"format": 1, "repositories": {name: repository}, "variants": {name: variant}}
    )


class World:
    """A hub, a store and a manifest of three files."""

    def __init__(self, hub: Any, root: Path) -> None:
        self.hub = hub
        self.store = Store(root / "models")
        self.files = {
            "config.json": b'{"model_type": "test"}\n',
            "model-00001-of-00002.safetensors": weights({"a": 300_000, "b": 400_000}, 1),
            "model-00002-of-00002.safetensors": weights({"c": 900_001}, 2),
        }
        self.manifest = manifest_of(self.files)
        self.big = "model-00002-of-00002.safetensors"
        self.said: list[str] = []
        for path, content in self.files.items():
            hub.put(REPOSITORY, path, content)

    def fault(self, *faults: Any, path: str | None = None, always: bool = False) -> None:
        """Plan faults for the big file, one a request; ``always``: for every request."""
        key = f"{REPOSITORY}/{path or self.big}"
        if always:
            self.hub.always[key] = faults[0]
        else:
            self.hub.faults[key].extend(faults)

    def options(self, **changes: Any) -> FetchOptions:
        """Return options with short waits and no cache."""
        hub = Hub(changes.pop("token", None), changes.pop("retries", 3), 0.01)
        return FetchOptions(**{"hub": hub, "quiet": True, "jobs": 2, **changes})

    def fetch(self, **changes: Any) -> Path:
        """Fetch the variant; return its directory."""
        (path,) = fetch(
            self.manifest, "base", self.store, self.options(**changes), self.said.append
        )
        return path

    def assert_whole(self) -> None:
        """Check every byte under the final name, and that nothing unfinished is left."""
        final = self.store.final("base")
        for path, content in self.files.items():
            assert (final / path).read_bytes() == content
        index = json.loads((final / "model.safetensors.index.json").read_text())
        assert index["weight_map"] == {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00001-of-00002.safetensors",
            "c": "model-00002-of-00002.safetensors",
        }
        assert not self.store.staging("base").exists()
        assert not list(self.store.root.rglob("*.part"))

    def assert_not_whole(self) -> None:
        """Check that nothing stands under the final name."""
        assert not self.store.final("base").exists()

    def environment(self) -> dict[str, str]:
        """Return the environment of a subprocess that sees this hub alone."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "QWEN3090_"))}
        return {**kept, "HF_ENDPOINT": self.hub.url, "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a running hub that huggingface_hub takes for the hub."""
    from huggingface_hub import constants

    server = HUB.HubServer().start()
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.stop()


@pytest.fixture
def second_hub() -> Iterator[Any]:
    """Return another host (another port), such as a content network."""
    server = HUB.HubServer().start()
    yield server
    server.stop()


@pytest.fixture
def world(hub: Any, tmp_path: Path) -> World:
    """Return a hub with three files, an empty store and their manifest."""
    return World(hub, tmp_path)


@pytest.fixture
def make_manifest() -> Callable[..., Manifest]:
    """Return the function that makes a manifest of files."""
    return manifest_of


@pytest.fixture
def make_weights() -> Callable[..., bytes]:
    """Return the function that makes a safetensors file."""
    return weights


@pytest.fixture
def make_entry() -> Callable[[str, bytes], dict[str, Any]]:
    """Return the function that makes a manifest's line of a file."""
    return entry


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let subprocesses import the packages that this process imports."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
