"""``verify --live`` against the real engine on the CPU: every fact is as the profile promises."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import qwen3090_prepare
from qwen3090.demo import make, server

pytest.importorskip("vllm")
pytestmark = pytest.mark.engine
SKIPPED = {"live.memory", "live.drafter-graphs"}  # no card, no graphs


def test_the_demo_server_is_what_its_profile_says(tmp_path: Path) -> None:
    tiny, model = make(tmp_path / "tiny"), tmp_path / "prepared"
    qwen3090_prepare.run(tiny.base, model, draft_vocab=tiny.draft_vocab)
    key_file, port = tmp_path / "key", server.free_port()
    key = server.write_key(key_file)
    start = server.command(model, port, key_file)
    with server.running(start, port, key, tmp_path / "log"):
        command = [*start, "--live", "--quick", "--json"]
        command[command.index("serve")] = "verify"
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ})
    assert done.stdout.startswith("{"), done.stderr
    findings = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
    live = {name: each for name, each in findings.items() if name.startswith("live.")}
    wrong = {name: each["detail"] for name, each in live.items() if each["status"] != "PASS"}
    assert set(wrong) == SKIPPED, wrong
    assert live["live.tokens-per-step"]["detail"].startswith("4.00 (")
    assert live["live.runner"]["detail"].endswith("cpu_model_runner.CPUModelRunner")
    assert "32 x CPUWNA16LinearKernel, 4 bits" in live["live.linears"]["detail"]
    assert live["live.draft-vocabulary"]["detail"] == "256 tokens"
