"""Runs pip's resolver under each Python; the machine's own pip settings do not enter the lock."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from qwen3090.errors import UserError
from qwen3090.lock.report import Report, read_report

# What a user behind a proxy or mirror needs. Nothing here can add a local wheel.
_KEEP = {"PIP_CERT", "PIP_CLIENT_CERT", "PIP_PROXY", "PIP_INDEX_URL", "PIP_CACHE_DIR"}
_KEEP |= {"PIP_DEFAULT_TIMEOUT", "PIP_TIMEOUT", "PIP_RETRIES", "PIP_TRUSTED_HOST"}


def clean_environment() -> dict[str, str]:
    """Return the environment without pip settings that could change what is resolved."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if (not key.startswith("PIP_") or key in _KEEP) and not key.startswith("PYTHON")
    }
    return kept | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def version_of(python: Path) -> str | None:
    """Return ``3.12`` for an interpreter that runs and has venv, else None (a dead pyenv shim)."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [str(python), "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def find_pythons(wanted: Sequence[str], given: Iterable[Path] = ()) -> dict[str, Path]:
    """Find an interpreter for each wanted version: given ones first, then PATH, then pyenv.

    Raises:
        UserError: a version has no working interpreter, or a given one is not wanted.
    """
    found: dict[str, Path] = {}
    for path in given:
        version = version_of(path)
        if version is None or version not in wanted:
            raise UserError(
                f"--python {path}: {'version ' + version if version else 'it does not run'}; "
                f"wanted are {', '.join(wanted)}",
                "give the path of an interpreter of one of these versions (with venv)",
            )
        found[version] = path
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for version in wanted:
        on_path = shutil.which(f"python{version}")
        candidates = [Path(on_path)] if on_path else []
        candidates += sorted(pyenv.glob(f"{version}.*/bin/python3"), reverse=True)
        for path in candidates:
            if version not in found and version_of(path) == version:
                found[version] = path
        if version not in found:
            raise UserError(
                f"no working Python {version} (looked for python{version} on PATH and in pyenv)",
                f"install one, or give it: qwen3090 lock --python /path/to/python{version}",
            )
    return found


def run_pip(
    python: Path, requirements: Sequence[str], *, dependencies: bool, say: Callable[[str], None]
) -> Report:
    """Resolve under one interpreter, in a throwaway virtual environment.

    Raises:
        UserError: pip fails; its last lines are in the message.
    """
    with tempfile.TemporaryDirectory(prefix="qwen3090-lock-") as folder:
        venv, report = Path(folder) / "venv", Path(folder) / "report.json"
        env = clean_environment()
        subprocess.run([str(python), "-m", "venv", str(venv)], check=True, env=env)
        command = [str(venv / "bin/python"), "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--only-binary=:all:", f"--report={report}"]
        command += [] if dependencies else ["--no-deps"]
        say(f"resolving {len(requirements)} requirements with {python}")
        done = subprocess.run(
            [*command, *requirements], capture_output=True, text=True, check=False, env=env
        )
        if done.returncode != 0:
            tail = "\n".join(done.stderr.strip().splitlines()[-8:])
            raise UserError(
                f"pip could not resolve under {python}:\n{tail}",
                "check the network and the versions in nix/pins.json",
            )
        return read_report(report)
