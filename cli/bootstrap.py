"""Brings the command ``qwen3090`` into a bare virtual environment, from a checkout.

Run by cli/bootstrap.sh with the environment's own Python. It installs, hash-checked, what the
command itself needs, then the three packages as editable installs; all else is done by
``qwen3090 setup``. Only the standard library is there yet.
"""

import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"qwen3090": "cli", "qwen3090-prepare": "prepare", "qwen3090-ops": "pkgs/ops"}
sys.path.insert(0, str(ROOT / "cli"))

from qwen3090.lock import wheelfile  # noqa: E402
from qwen3090.setup.locked import Environment, installed, pip_environment  # noqa: E402
from qwen3090.setup.machine import Machine, SetupError  # noqa: E402


def say(line: str) -> None:
    """Print progress."""
    print(line, flush=True)


def fingerprint() -> str:
    """Return what decides whether the editable installs are still right."""
    texts = [(ROOT / folder / "pyproject.toml").read_bytes() for folder in PACKAGES.values()]
    return hashlib.sha256(b"\0".join([str(ROOT).encode(), *texts])).hexdigest()


def check_complete(chosen: list[wheelfile.Wheel]) -> None:
    """Check that the lock has every package that the command itself imports.

    Raises:
        SetupError: one is missing.
    """
    rows = tomllib.loads((ROOT / "cli/pyproject.toml").read_text(encoding="utf-8"))
    names = [re.split(r"[^\w.-]", row, maxsplit=1)[0] for row in rows["project"]["dependencies"]]
    have = {wheel.project for wheel in chosen}
    if missing := [name for name in names if wheelfile.normalise(name) not in have]:
        raise SetupError(f"nix/wheels.json has no {', '.join(missing)}", "git diff nix/wheels.json")


def install_packages(machine: Machine, site: Path) -> None:
    """Install the checkout's packages as editable ones, unless they are there already.

    Raises:
        SetupError: the build fails.
    """
    stamp = machine.prefix / "qwen3090-editable.txt"
    have = installed(site)
    same = stamp.is_file() and stamp.read_text(encoding="utf-8") == fingerprint()
    if same and all(name in have for name in PACKAGES):
        return
    say("installing the project's own packages (editable)")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation"]
    for folder in PACKAGES.values():
        command += ["--editable", str(ROOT / folder)]
    with tempfile.TemporaryDirectory(dir=machine.prefix, prefix=".pip-") as temporary:
        env = pip_environment(Path(temporary))
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-6:])
        raise SetupError(f"the packages could not be installed:\n{tail}", "make clean setup")
    stamp.write_text(fingerprint(), encoding="utf-8")


def main() -> int:
    """Run the bootstrap; return the exit status."""
    machine = Machine()
    try:
        pins = json.loads((ROOT / "nix/pins.json").read_text(encoding="utf-8"))
        machine.check(pins["python"]["supported"])
        wheels = wheelfile.read(ROOT / "nix/wheels.json")
        chosen = wheelfile.select(wheels, machine.python, ["cli", "build"])
        machine.check_glibc(chosen)
        check_complete(chosen)
        site = Path(sysconfig.get_paths()["purelib"])
        environment = Environment(machine.prefix, site)
        with environment.alone(say):
            environment.install(chosen, say)
            install_packages(machine, site)
    except SetupError as error:
        print(f"error: {error}\n  next: {error.next_step}", file=sys.stderr)
        return 1
    except (OSError, ValueError, wheelfile.LockError) as error:
        print(f"error: {error}\n  next: git status nix", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
