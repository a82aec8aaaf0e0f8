"""What systemd says is told with the meaning of our exit statuses; without it all is skipped."""

from pathlib import Path

import pytest
from qwen3090.verify import Finding, Status
from qwen3090.verify.unit import check_units

RUNNING = "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nNRestarts=0\n"


def systemctl(tmp_path: Path, output: str, status: int = 0) -> str:
    """Make a stand-in that answers for the server, and says that the other unit is not there."""
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    (tmp_path / "output").write_text(output)
    program = tmp_path / "systemctl"
    program.write_text(
        "#!/bin/sh\n"
        f'case "$2" in qwen3090.service) cat {tmp_path}/output; exit {status};; esac\n'
        "echo LoadState=not-found\n"
    )
    program.chmod(0o755)
    return str(program)


def found(tmp_path: Path, output: str, status: int = 0) -> Finding:
    server, model = check_units(systemctl(tmp_path, output, status), tmp_path)
    assert (model.check, model.status) == ("unit.model", Status.SKIP)
    return server


def test_without_systemd_nothing_is_asked(tmp_path: Path) -> None:
    (only,) = check_units("/bin/false", tmp_path)
    assert only.status is Status.SKIP


def test_a_running_unit_passes(tmp_path: Path) -> None:
    assert found(tmp_path, RUNNING).status is Status.PASS


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        (("NRestarts=0", "NRestarts=3"), Status.WARN, "restarted 3 times"),
        (("ActiveState=active", "ActiveState=activating"), Status.WARN, "activating"),
        (("ActiveState=active", "ActiveState=inactive"), Status.WARN, "not running"),
        (("LoadState=loaded", "LoadState=bad-setting"), Status.FAIL, "bad-setting"),
        (("LoadState=loaded", "LoadState=not-found"), Status.SKIP, "not installed"),
    ],
)
def test_other_states(tmp_path: Path, change: tuple[str, str], status: Status, says: str) -> None:
    finding = found(tmp_path, RUNNING.replace(*change))
    assert finding.status is status
    assert says in finding.detail
    assert finding.next or status is Status.SKIP


@pytest.mark.parametrize(
    ("code", "number", "says"),
    [
        ("1", "66", "exit 66: one request at full context does not fit"),
        ("1", "3", "exit 3"),
        ("2", "9", "signal 9"),
    ],
)
@pytest.mark.parametrize(("active", "sub"), [("failed", "failed"), ("activating", "auto-restart")])
def test_a_failure_is_named(
    tmp_path: Path, code: str, number: str, says: str, active: str, sub: str
) -> None:
    text = (
        f"LoadState=loaded\nActiveState={active}\nSubState={sub}\nResult=exit-code\n"
        f"ExecMainCode={code}\nExecMainStatus={number}\nNRestarts=4\n"
    )
    finding = found(tmp_path, text)
    assert finding.status is Status.FAIL
    assert says in finding.detail and "restarted 4 times" in finding.detail
    assert finding.next == "journalctl -u qwen3090.service -n 50"


def test_a_systemctl_that_fails_is_told(tmp_path: Path) -> None:
    assert found(tmp_path, "", 1).status is Status.WARN
