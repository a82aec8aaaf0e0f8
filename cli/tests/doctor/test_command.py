"""The command: grouped text, JSON, exit status, and the report's file."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from qwen3090.commands import doctor as command
from qwen3090.doctor.context import Context
from qwen3090.main import cli

from .cases import card
from .fake import Fake

Run = Callable[..., Result]


@pytest.fixture
def run(machine: Fake, monkeypatch: pytest.MonkeyPatch) -> Run:
    def context(**options: object) -> Context:
        return Context(machine, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "Context", context)
    return lambda *words: CliRunner().invoke(cli, ["doctor", *words])


def test_a_well_machine_ends_with_0(run: Run) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    headings = [line for line in result.output.splitlines() if line.endswith(":")]
    assert headings == ["Card:", "WSL2:", "Disk and memory:", "System:", "Network:", "Kernels:"]
    assert "PASS  driver: 580.95.05" in result.output
    assert "next:" not in result.output


def test_a_failure_ends_with_1_and_its_next_command(run: Run, machine: Fake) -> None:
    card(driver_version="570.153.02")(machine)
    result = run()
    assert result.exit_code == 1
    assert "FAIL  driver.old: 570.153.02; needed: 580 or newer" in result.output
    assert "      next: sudo apt-get install nvidia-driver-580" in result.output


def test_a_warning_does_not_fail(run: Run, machine: Fake) -> None:
    card(power__limit="200.00")(machine)
    result = run("--json")
    assert result.exit_code == 0
    (found,) = [f for f in json.loads(result.output) if f["status"] == "WARN"]
    assert found["check"] == "power.low"
    assert "-pl 250" in found["next"]


def test_the_report_is_private_and_whole(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    result = run("fast-mtp", "--report", str(target))
    assert result.exit_code == 0
    assert str(target) in result.output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert "## Settings: fast-mtp" in target.read_text()


def test_a_dash_prints_the_report_alone(run: Run) -> None:
    result = run("--report", "-")
    assert result.output.startswith("# qwen3090 doctor\n")
    assert "\nCard:\n" not in result.output


def test_a_report_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    result = run("--report", str(tmp_path / "no" / "such"))
    assert result.exit_code == 1
    assert "No such file or directory" in result.output
    assert "--report FILE" in result.output


def test_one_answer_on_standard_output(run: Run) -> None:
    assert run("--json", "--report", "-").exit_code == 2


def test_settings_that_cannot_be_read_do_not_stop_it(run: Run) -> None:
    result = run("fats")
    assert result.exit_code == 1
    assert "settings.wrong" in result.output
    assert "'fats'" in result.output
    assert "PASS  temperature" in result.output
    assert "PASS  jit.triton" in result.output


def test_a_name_in_another_encoding_does_not_stop_the_report(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    name = b"r\xc3\xa9sum\xc3\xa9".decode("ascii", "surrogateescape")  # as LC_ALL=C reads it
    result = run("--report", path, "--set", f"model=/{name}")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert 'model = "/r??sum??"' in path.read_text(encoding="utf-8")
