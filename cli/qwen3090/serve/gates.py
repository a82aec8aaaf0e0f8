"""What must hold before the engine is started; each gate raises one error with its own status."""

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from qwen3090 import state
from qwen3090.config.files import file_problems, read_keys
from qwen3090.config.model import ServeConfig
from qwen3090.config.problems import ConfigError, Problem
from qwen3090.errors import UserError
from qwen3090.serve import exit_codes
from qwen3090.serve.checkpoint import checkpoint_problems
from qwen3090.serve.claim import claimed
from qwen3090.serve.device import check_driver, nodes_of, wait_for_nodes
from qwen3090.serve.gpu import check_gpu
from qwen3090.serve.holders import holder_of_port
from qwen3090.serve.plan_gate import check_plan
from qwen3090.serve.render import PLUGIN
from qwen3090.setup.cuda import home_of


def check_key(config: ServeConfig, environ: Mapping[str, str]) -> str | None:
    """Return the first API key, which the supervisor uses itself, or None when there is none.

    Raises:
        ConfigError: the key file is missing, holds no good key or is readable by everyone.
    """
    problems = [Problem(item.text, item.next_step) for item in file_problems(config, environ)]
    if problems:
        raise ConfigError(problems)
    keys = read_keys(config, environ)
    return keys[0] if keys else None


def check_checkpoint(config: ServeConfig) -> None:
    """Refuse a model or drafter directory that is not whole (BAD_CHECKPOINT)."""
    found = []
    if config.model is not None:
        found += list(checkpoint_problems(config.model))
    if config.speculation == "dflash2" and config.drafter is not None:
        found += list(checkpoint_problems(config.drafter, tokenizer=False))
    if found:
        text = "\n- ".join(found[:10])
        raise UserError(
            found[0]
            if len(found) == 1
            else f"{len(found)} problems with the checkpoint:\n- {text}",
            _fetch(config)
            or "qwen3090 models verify; then prepare again: qwen3090 prepare BASE --out DIRECTORY",
            exit_code=exit_codes.BAD_CHECKPOINT,
        )


def _fetch(config: ServeConfig) -> str:
    """Return the command for what was never fetched or prepared; "" when that is not the cause."""
    used: list[tuple[Path | None, Path | None]] = [
        (config.model, state.prepared_dir(config.variant))
    ]
    if config.speculation == "dflash2":
        used.append((config.drafter, state.drafter_dir(config.speculation)))
    absent = any(path is not None and path == own and not path.exists() for path, own in used)
    return "qwen3090 up PROFILE --no-serve  # fetches and prepares" if absent else ""


def check_port(config: ServeConfig) -> None:
    """Refuse an address that cannot be listened on, naming who does (PORT_TAKEN)."""
    host = config.host.strip("[]")
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, number) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except UnicodeError as error:
        text = f"host = {config.host} is no name of a host: {error}"
        raise UserError(
            text, "--set host=ADDRESS", exit_code=exit_codes.BAD_CONFIGURATION
        ) from error
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        who = f" by {holder_of_port(config.port)}" if taken else ""
        reason = f"is in use{who}" if taken else f"cannot be listened on: {error.strerror}"
        raise UserError(
            f"{config.host}:{config.port} {reason}",
            "stop it, or choose another: --set port=PORT" if taken else "--set host=ADDRESS",
            exit_code=exit_codes.PORT_TAKEN,
        ) from error


def check_installation() -> None:
    """Refuse to start when vLLM, a patch of the series or our plugin is missing.

    Nothing of vLLM is imported. Raises UserError with ENGINE_NOT_AS_PINNED.
    """
    from qwen3090.verify.report import Status
    from qwen3090.verify.series import check_series

    if find_spec("vllm") is None:
        raise _not_as_pinned("vLLM is not installed in this environment")
    for finding in check_series():
        if finding.status is Status.FAIL:
            raise _not_as_pinned(f"{finding.check}: {finding.detail}", finding.next)
    names = {point.name for point in entry_points(group="vllm.general_plugins")}
    if PLUGIN not in names:
        raise _not_as_pinned("vLLM would not find the plugin: qwen3090-ops is not installed")


def check_toolkit(config: ServeConfig) -> None:
    """Refuse a GPU engine without the pinned compiler and headers (ENGINE_NOT_AS_PINNED).

    FlashInfer builds kernels at the first start; without them vLLM silently takes a slower path.
    """
    from qwen3090.verify.cuda import check_cuda
    from qwen3090.verify.report import Status

    if config.device == "cuda":
        finding = check_cuda()
        if finding.status is Status.FAIL:
            raise _not_as_pinned(finding.detail, finding.next)


def _not_as_pinned(problem: str, next_step: str = "") -> UserError:
    return UserError(
        problem, next_step or "qwen3090 setup", exit_code=exit_codes.ENGINE_NOT_AS_PINNED
    )


def pass_all(
    config: ServeConfig, environ: Mapping[str, str], held: contextlib.ExitStack
) -> list[str]:
    """Run every gate, cheap ones first; return lines that say what was found.

    Args:
        config: the checked settings.
        environ: the environment.
        held: keeps the address until the server has ended.
    """
    check_port(config)
    held.enter_context(claimed(config))
    check_checkpoint(config)
    lines = check_plan(config)
    if config.engine.command:
        lines.append("engine.command is set: patches and plugin are not checked")
    else:
        check_installation()
        check_toolkit(config)
    if config.device == "cuda":
        if waited := wait_for_nodes(nodes_of(environ)):
            lines.append(f"waited {waited:.0f} s for the card's device nodes")
        lines.append(f"driver {check_driver(environ)}")
        lines.append(check_gpu(config, environ))
    return lines


def cuda_home(config: ServeConfig) -> Path | None:
    """Return $CUDA_HOME, else the toolkit of `qwen3090 setup`, for kernels built at start."""
    if config.device != "cuda":
        return None
    given = os.environ.get("CUDA_HOME")
    return Path(given) if given else home_of(Path(sys.prefix))
