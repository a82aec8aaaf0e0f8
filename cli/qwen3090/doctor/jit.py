"""Can the engine compile kernels here? It does at its first start, and is slow or dead without."""

import os
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from qwen3090.config import ServeConfig
from qwen3090.data import load_json
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, skipped
from qwen3090.serve.gates import cuda_home
from qwen3090.serve.render import render
from qwen3090.verify.cuda import NEXT, check_cuda
from qwen3090.verify.environment import engine_kind, installed_versions
from qwen3090.verify.report import Finding, Status

INCOMPLETE = fail(
    "jit.toolchain", "compiler, headers (curand's too) or runtime are missing", "{cure}"
)
VERSIONS = fail(
    "jit.versions",
    "nvcc's release is not that of the headers beside it, or not the pinned one",
    "unset CUDA_HOME; " + NEXT,
)
TOOLS = fail(
    "jit.tools",
    "the engine's PATH lacks gcc, g++ or ninja, or Python's headers are missing",
    "sudo apt-get install g++ ninja-build python3-dev",
)


def toolchain(context: Context) -> Iterator[Finding]:
    """Check the compiler that ``serve`` gives to the engine, file by file and by version."""
    reason = left_out(context)
    if reason:
        yield skipped("jit", reason)
        return
    environ = context.machine.environ
    found = check_cuda(environ)
    if found.status is Status.FAIL:
        yield INCOMPLETE.found(found.detail, cure=found.next)
        return
    config = context.config
    home = Path(environ.get("CUDA_HOME") or str(cuda_home(config) if config else ""))
    text, good = _versions(context, home)
    if not good:
        yield VERSIONS.found(text)
    missing = _missing_tools(context)
    if missing:
        yield TOOLS.found(f"missing: {', '.join(missing)}")
    if good and not missing:
        yield passed("jit", text)


def left_out(context: Context) -> str:
    """Return why nothing is compiled here, empty when it is."""
    if context.on_cpu:
        return f"profile {context.profile} runs on the CPU"
    kind = engine_kind(installed_versions())
    if kind != "cuda":
        return f"the engine for a GPU is not installed (here: {kind or 'none'}): {NEXT}"
    return ""


def _versions(context: Context, home: Path) -> tuple[str, bool]:
    """Return what compiler and headers say of themselves, and whether they agree with the pin."""
    pins = load_json("pins.json")["cuda"]
    said = context.machine.run([str(home / "bin/nvcc"), "--version"], 30).out
    compiler = re.search(r"release (\d+\.\d+), V([\d.]+)", said)
    header = context.machine.text(home / "include/cuda_runtime_api.h") or ""
    runtime = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", header)
    if compiler is None or runtime is None:
        return f"{home}: nvcc or cuda_runtime_api.h does not tell its version", False
    headers = f"{int(runtime[1]) // 1000}.{int(runtime[1]) % 1000 // 10}"
    text = f"{home}: nvcc {compiler[2]}, headers {headers}, pinned {pins['release']}"
    return text, compiler[1] == headers == pins["release"]


def _missing_tools(context: Context) -> list[str]:
    machine = context.machine
    environ = engine_environment(context)
    path = environ.get("PATH", os.defpath)
    tools = [environ.get("CC", "gcc"), environ.get("CXX", "g++"), "ninja"]
    missing = [tool for tool in tools if machine.which(tool, path) is None]
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return missing + ([] if machine.exists(header) else [str(header)])


def engine_environment(context: Context) -> dict[str, str]:
    """Return the environment in which ``serve`` would start the engine."""
    environ = dict(context.machine.environ)
    config = context.config or ServeConfig.model_validate({})
    launch = render(config, environ, cuda_home=cuda_home(config))
    for name in launch.removed:
        environ.pop(name, None)
    return environ | dict(launch.environment)


CHECKS = (
    Check(
        "jit",
        "Kernels",
        "nvcc and headers of one release, curand's header, gcc, g++, ninja, Python's headers",
        toolchain,
        (INCOMPLETE, VERSIONS, TOOLS),
    ),
)
