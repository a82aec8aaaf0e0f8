"""Starts the probe on a stock and on a patched vLLM tree and puts cases to it."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from qwen3090.plan import Geometry, PlanInput

from .engine_trees import make_trees, python

OPS = Path(__file__).resolve().parents[3] / "pkgs" / "ops"


class Ask(Protocol):
    """Puts one case to vLLM and returns what the probe answers."""

    def __call__(
        self, inputs: PlanInput, geometry: Geometry, extra: dict[str, Any] | None = None
    ) -> dict[str, Any]: ...


Asks = dict[str, Ask]


def run_engines(package: Path, folder: Path) -> Iterator[Asks]:
    """Yield a function for each tree, ``stock`` and ``hybrid``; stop the processes afterwards."""
    trees = make_trees(package, folder)
    processes = {name: _start(tree) for name, tree in trees.items()}
    try:
        yield {name: _asker(process) for name, process in processes.items()}
    finally:
        for process in processes.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=60)


def _start(tree: Path) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree}{os.pathsep}{OPS}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [python(), str(Path(__file__).with_name("engine_probe.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"  # one after the other: an import takes 20 s
    return process


def _asker(process: "subprocess.Popen[str]") -> Ask:
    def ask(
        inputs: PlanInput, geometry: Geometry, extra: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        case = {
            **asdict(inputs),
            "geometry": asdict(geometry),
            "k": inputs.k,
            "drafter_kv_format": inputs.drafter_format.name,
            "target_backend": inputs.target_backend,
            "drafter_backend": inputs.draft_backend,
            **(extra or {}),
        }
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, f"vLLM's code failed on {case}"
        result: dict[str, Any] = json.loads(answer)
        return result

    return ask
