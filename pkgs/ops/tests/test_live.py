"""The report's route, and sections of it that need no engine: no failure is silent."""

import asyncio
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from qwen3090_ops.live import middleware
from qwen3090_ops.live.middleware import EngineReport

pytest.importorskip("starlette")


class Client:
    """Stands for vLLM's engine client."""

    def __init__(self, answer: Any = None, wait: float = 0) -> None:
        self.answer, self.wait = answer, wait

    async def collective_rpc(self, method: str) -> Any:
        assert method == "qwen3090_report"
        await asyncio.sleep(self.wait)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def ask(path: str, client: Any, method: str = "GET", **more: Any) -> tuple[int, Any]:
    """Send one request through the middleware; an inner application answers 404."""
    sent: list[dict[str, Any]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b'"inner"'})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    state = SimpleNamespace(**({} if client is None else {"engine_client": client}))
    scope = {"type": "http", "path": path, "method": method, "app": SimpleNamespace(state=state)}
    asyncio.run(EngineReport(inner)(scope | more, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_the_route_gives_every_workers_report() -> None:
    assert ask("/qwen3090/engine", Client([{"format": 1}])) == (200, {"workers": [{"format": 1}]})


def test_the_servers_root_path_is_not_a_part_of_it() -> None:
    status, _ = ask("/proxy/qwen3090/engine", Client([]), root_path="/proxy")
    assert status == 200


@pytest.mark.parametrize("path", ["/", "/qwen3090/engine/x", "/v1/models"])
def test_other_paths_are_passed_on(path: str) -> None:
    assert ask(path, Client([])) == (404, "inner")


def test_other_methods_are_refused() -> None:
    assert ask("/qwen3090/engine", Client([]), "POST")[0] == 405


def test_a_starting_engine_says_so() -> None:
    status, body = ask("/qwen3090/engine", None)
    assert (status, body) == (503, {"error": "the engine is still starting"})


def test_a_worker_without_the_method_is_told() -> None:
    status, body = ask("/qwen3090/engine", Client(NotImplementedError("no qwen3090_report")))
    assert (status, body) == (500, {"error": "NotImplementedError: no qwen3090_report"})


def test_a_worker_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "TIMEOUT_S", 0.01)
    status, body = ask("/qwen3090/engine", Client([], wait=5))
    assert status == 503 and "no answer from the worker" in body["error"]


def marked(site: Path, **changes: Any) -> Path:
    """Lay out a patched tree of one file."""
    (site / "vllm/.qwen3090").mkdir(parents=True)
    file = site / "vllm/a.py"
    file.write_text("patched")
    os.utime(file, (1, 1))
    digest = hashlib.sha256(b"patched").hexdigest()
    entries = [{"path": "vllm/a.py", "before": None, "after": digest}]
    marker = {"series_hash": "f" * 64, "patches": [{"name": "0101.patch"}], "files": entries}
    (site / "vllm/.qwen3090/applied.json").write_text(json.dumps(marker | changes))
    return file


def series(site: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from qwen3090_ops.live import machine

    module = SimpleNamespace(__file__=str(site / "vllm/__init__.py"))
    monkeypatch.setitem(sys.modules, "vllm", module)
    return machine.series(None)


def test_the_series_is_that_of_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked(tmp_path)
    found = series(tmp_path, monkeypatch)
    assert found == {
        "tree": str(tmp_path), "hash": "f" * 64, "patches": ["0101.patch"], "wrong": [],
        "newer": [],
    }  # fmt: skip


def test_a_file_changed_since_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = marked(tmp_path)
    file.write_text("patched")
    later = time.time() + 60
    os.utime(file, (later, later))
    found = series(tmp_path, monkeypatch)
    assert (found["wrong"], found["newer"]) == ([], ["vllm/a.py"])
    file.write_text("other")
    assert series(tmp_path, monkeypatch)["wrong"] == ["vllm/a.py"]
    file.unlink()
    assert series(tmp_path, monkeypatch)["wrong"] == ["vllm/a.py"]


def test_a_tree_without_a_marker_has_no_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert series(tmp_path, monkeypatch)["hash"] is None


@pytest.mark.engine
def test_a_section_that_cannot_be_made_says_why_and_harms_no_other() -> None:
    from qwen3090_ops.live.report import SECTIONS, report

    found = report(SimpleNamespace())
    assert set(found) == {"format", *SECTIONS}
    assert found["pool"] == {
        "error": "AttributeError: 'types.SimpleNamespace' object has no attribute 'vllm_config'"
    }
    assert found["series"]["hash"]
    json.dumps(found)


@pytest.mark.engine
def test_graphs_of_the_v2_runner_are_read_off_its_managers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real descriptors in stand-ins: no GPU is needed to read what would have been captured."""
    from qwen3090_ops.live import graphs
    from vllm.config.compilation import CUDAGraphMode
    from vllm.v1.worker.gpu.cudagraph_utils import BatchExecutionDescriptor, CudaGraphManager

    def full(tokens: int) -> BatchExecutionDescriptor:
        return BatchExecutionDescriptor(CUDAGraphMode.FULL, tokens, tokens // 8, 8)

    piece = BatchExecutionDescriptor(CUDAGraphMode.PIECEWISE, 4, None)

    def manager(captured: bool = True) -> CudaGraphManager:
        made: CudaGraphManager = CudaGraphManager.__new__(CudaGraphManager)
        made._graphs_captured = captured
        made._capture_descs = {
            CUDAGraphMode.FULL: [full(16), full(8)],
            CUDAGraphMode.PIECEWISE: [piece],
        }
        made.graphs = {full(8): None}  # the larger one was not captured
        return made

    monkeypatch.setattr(graphs, "is_v2", lambda _: True)
    mode = SimpleNamespace(cudagraph_mode=CUDAGraphMode.FULL_AND_PIECEWISE)
    mode.cudagraph_capture_sizes = [8, 4]
    drafts = SimpleNamespace(query_cudagraph_manager=manager(), decode=manager(False), k=7)
    runner = SimpleNamespace(compilation_config=mode, cudagraph_manager=manager())
    monkeypatch.setattr(graphs, "speculator", lambda _: drafts)
    found = graphs.graphs(SimpleNamespace(model_runner=runner))
    shapes = {
        "FULL": [{"tokens": 8, "query": 8}],
        "PIECEWISE": [{"tokens": 4, "query": None}],
    }
    assert found == {
        "mode": "FULL_AND_PIECEWISE", "sizes": [4, 8], "target": shapes,
        "drafter": {"query_cudagraph_manager": shapes, "decode": {}},
    }  # fmt: skip
