"""Every route that vLLM's app has, by its own list, asked without a key."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .fake import KEY
from .test_keys import GOOD

pytestmark = [pytest.mark.engine, pytest.mark.slow]
SCRIPT = Path(__file__).parents[1] / "support" / "routes.py"
OPEN = {"GET /health", "HEAD /health", "GET /ping"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("vllm")
    folder = tmp_path_factory.mktemp("routes")
    (folder / "keys").write_text(KEY)
    environment = {**os.environ, "QWEN3090_API": json.dumps(GOOD | {"keys": f"{folder}/keys"})}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder / "results.json")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


def test_the_list_holds_what_stock_vllm_leaves_open(results: dict[str, Any]) -> None:
    for route in (
        "POST /invocations",
        "POST /tokenize",
        "POST /detokenize",
        "GET /metrics",
        "GET /docs",
        "GET /openapi.json",
        "GET /version",
        "POST /v1/chat/completions",
        "POST /v1/messages",
        "POST /pause",
        "POST /collective_rpc",
    ):
        assert route in results["http"], route
    assert len(results["http"]) > 300


def test_every_route_and_method_is_denied(results: dict[str, Any]) -> None:
    passed = {name: status for name, status in results["http"].items() if status != 401}
    assert set(passed) == OPEN


def test_every_websocket_is_denied(results: dict[str, Any]) -> None:
    assert "/v1/realtime" in results["websocket"]
    assert set(results["websocket"].values()) == {"closed"}


def test_the_key_opens(results: dict[str, Any]) -> None:
    assert set(results["with_key"].values()) == {200}
