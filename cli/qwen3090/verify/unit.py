"""What systemd says of the service: running, failed and why, or restarted again and again."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from qwen3090.serve import exit_codes
from qwen3090.verify.report import Finding, Status

UNITS = {"unit": "qwen3090.service", "unit.model": "qwen3090-model.service"}
PROPERTIES = (
    "LoadState", "ActiveState", "SubState", "Result", "ExecMainCode", "ExecMainStatus", "NRestarts",
)  # fmt: skip
_EXITED = "1"  # CLD_EXITED: ExecMainStatus is an exit status, else it is a signal's number


def check_units(systemctl: str | None = None, root: Path = Path("/")) -> Iterator[Finding]:
    """Yield one finding for the server's unit, and one for the one that fetches its model.

    Args:
        systemctl: the program; the one on PATH by default.
        root: where ``run/systemd/system`` shows that systemd runs this machine.
    """
    program = systemctl or shutil.which("systemctl")
    if program is None or not (root / "run/systemd/system").is_dir():
        yield Finding("unit", Status.SKIP, "systemd does not run this machine")
        return
    for check, unit in UNITS.items():
        yield _unit(check, unit, _show(program, unit))


def _show(program: str, unit: str) -> dict[str, str] | str:
    """Return the unit's properties, or why they could not be read."""
    argv = [program, "show", unit, f"--property={','.join(PROPERTIES)}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip() or f"exit status {done.returncode}"
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {key: value for key, _, value in pairs}


def _unit(check: str, unit: str, found: Mapping[str, str] | str) -> Finding:
    if isinstance(found, str):
        return Finding(check, Status.WARN, f"{unit}: {found}", f"systemctl status {unit}")
    if found.get("LoadState") == "not-found":
        return Finding(check, Status.SKIP, f"{unit} is not installed")
    if found.get("LoadState") != "loaded":
        text = f"{unit} cannot be loaded ({found.get('LoadState')})"
        return Finding(check, Status.FAIL, text, f"systemctl status {unit}")
    active, sub = found.get("ActiveState", ""), found.get("SubState", "")
    restarts = int(found.get("NRestarts") or 0)
    often = f", restarted {restarts} times" if restarts else ""
    logs = f"journalctl -u {unit} -n 50"
    if active == "failed" or sub == "auto-restart":
        text = f"{unit} is {active} ({sub}): {_reason(found)}{often}"
        return Finding(check, Status.FAIL, text, logs)
    if active == "active":
        status = Status.WARN if restarts else Status.PASS
        return Finding(check, status, f"{unit} is {active} ({sub}){often}", logs)
    if active == "inactive" and check == "unit":
        text = f"{unit} is not running; it ended last with: {_reason(found)}"
        return Finding(check, Status.WARN, text, f"systemctl start {unit}")
    if active == "inactive":
        return Finding(check, Status.PASS, f"{unit} is done ({found.get('Result')})")
    return Finding(check, Status.WARN, f"{unit} is {active} ({sub}){often}", logs)


def _reason(found: Mapping[str, str]) -> str:
    """Return systemd's result and, for an exit status of ours, what it means."""
    result, number = found.get("Result", ""), found.get("ExecMainStatus", "")
    if found.get("ExecMainCode") != _EXITED or not number.isdigit():
        return f"{result}, signal {number}" if number not in ("", "0") else result
    meaning = exit_codes.MEANING.get(int(number))
    return f"{result}, exit {number}" + (f": {meaning}" if meaning else "")
