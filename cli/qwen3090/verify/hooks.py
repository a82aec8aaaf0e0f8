"""What vLLM's own registries return once the plugin has loaded, asked in a process of its own.

vLLM only logs a plugin that fails to import, so a file's presence proves nothing.
"""

import json
import os
import subprocess
import sys
from typing import Any

from qwen3090.verify.report import Finding, Status

PROBE = "import json, qwen3090_ops.selftest as s; print('HOOKS ' + json.dumps(s.selftest()))"
NEXT = "qwen3090 setup --repair"
TIMEOUT_S = 180


def probe(command: list[str] | None = None, timeout: float = TIMEOUT_S) -> list[dict[str, Any]]:
    """Return what ``qwen3090_ops.selftest`` reports in a fresh interpreter.

    Raises:
        RuntimeError: the process failed; the message ends with its last line of output.
    """
    argv = command or [sys.executable, "-c", PROBE]
    environment = {**os.environ, "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the self-test did not end within {timeout:.0f} s") from None
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("HOOKS "):
            hooks: list[dict[str, Any]] = json.loads(line.removeprefix("HOOKS "))
            return hooks
    last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
    raise RuntimeError(f"the self-test failed (exit {done.returncode}): {last}")


def check_hooks(command: list[str] | None = None) -> list[Finding]:
    """Return one finding for each hook of the plugin; inactive hooks FAIL."""
    try:
        hooks = probe(command)
    except RuntimeError as error:
        return [Finding("ops.plugin", Status.FAIL, str(error), NEXT)]
    if not hooks:
        return [Finding("ops.plugin", Status.FAIL, "the self-test reports no hooks", NEXT)]
    return [
        Finding(
            f"ops.{hook['name']}",
            Status.PASS if hook["active"] else Status.FAIL,
            hook["detail"],
            "" if hook["active"] else NEXT,
        )
        for hook in hooks
    ]
