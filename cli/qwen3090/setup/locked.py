"""Installs locked wheels with pip, every file checked by hash; standard library only.

Content is guaranteed by the hashes, so the user's index, proxy and certificate settings stay in
force. ``===`` requirements keep a look-alike such as ``2.13.0+cpu`` from a local folder out.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from qwen3090.lock.wheelfile import Wheel, normalise
from qwen3090.setup.machine import SetupError

STATE_NAME = "qwen3090-setup.json"
Say = Callable[[str], None]

# pip settings that change where or what is installed; a venv set-up must not inherit them.
_DROP = re.compile(
    "PIP_(TARGET|PREFIX|ROOT|USER|PRE|UPGRADE|DRY_RUN|REPORT|REQUIREMENT|EDITABLE|NO_BINARY"
    "|ONLY_BINARY|PYTHON|REQUIRE_HASHES|FORCE_REINSTALL)"
)
_MISMATCH = re.compile(
    r"^\s+(\S+)===(\S+) from .*?\n\s+Expected sha256 (\w+)\n\s+Got\s+(\w+)", re.MULTILINE
)
_NETWORK = re.compile(
    r"certificate verify failed|Name or service not known|Temporary failure in name resolution"
    r"|Network is unreachable|Connection refused|Connection timed out|[Rr]ead timed out"
    r"|Cannot connect to proxy|Connection reset by peer"
)


def pip_environment(temporary: Path) -> dict[str, str]:
    """Return the environment for pip: the user's, without what would misplace an installation.

    Temporary files go beside the environment: downloads are gigabytes, and /tmp is often memory.
    """
    env = {k: v for k, v in os.environ.items() if not _DROP.fullmatch(k)}
    env |= {"PIP_CONSTRAINT": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    return env | {"PIP_USER": "0", "TMPDIR": str(temporary), "PYTHONNOUSERSITE": "1"}


def installed(site: Path) -> dict[str, str]:
    """Return normalised project name to version, read from the names of ``*.dist-info``."""
    found = {}
    for folder in site.glob("*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").partition("-")
        if (folder / "METADATA").is_file():
            found[normalise(name)] = version
    return found


class Environment:
    """One virtual environment and the record of which locked file each project came from."""

    def __init__(self, prefix: Path, site: Path) -> None:
        self.prefix, self.site, self.python = prefix, site, prefix / "bin" / "python"

    @contextmanager
    def alone(self, say: Say) -> Iterator[None]:
        """Keep two set-ups of one environment apart; sweep what a killed one left behind."""
        with (self.prefix / ".qwen3090-setup.lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another set-up of this environment")
                fcntl.flock(handle, fcntl.LOCK_EX)
            for pattern in (".fetch-*", ".wheels-*", ".pip-*"):
                for left in self.prefix.glob(pattern):
                    shutil.rmtree(left, ignore_errors=True)
            yield

    @property
    def record_path(self) -> Path:
        """Where the record is kept: JSON, project to sha256 and installed version."""
        return self.prefix / STATE_NAME

    def record(self) -> dict[str, dict[str, str]]:
        """Return the record; empty when there is none or it is damaged."""
        try:
            loaded = json.loads(self.record_path.read_text(encoding="utf-8"))
            return {str(k): dict(v) for k, v in loaded["wheels"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def _write_record(self, record: dict[str, dict[str, str]]) -> None:
        part = self.record_path.with_suffix(".part")
        text = json.dumps({"wheels": record}, indent=1, sort_keys=True)
        part.write_text(text, encoding="utf-8")
        part.replace(self.record_path)

    def missing(self, wheels: Sequence[Wheel]) -> list[Wheel]:
        """Return the wheels that are not installed from exactly the locked file."""
        have, record = installed(self.site), self.record()
        return [
            wheel
            for wheel in wheels
            if record.get(wheel.project, {}).get("sha256") != wheel.sha256
            or have.get(wheel.project) != record[wheel.project].get("version")
        ]

    def install(self, wheels: Sequence[Wheel], say: Say) -> None:
        """Install what is missing.

        Raises:
            SetupError: a wheel cannot be had or its content differs from the lock. pip checks all
                hashes before it installs, so the environment is as before.
        """
        todo = self.missing(wheels)
        if not todo:
            return
        say(f"installing {len(todo)} of {len(wheels)} wheels")
        self._pip_files(["install", "--force-reinstall", "--no-compile"], todo, say)
        have, record = installed(self.site), self.record()
        for wheel in todo:
            record[wheel.project] = {"sha256": wheel.sha256, "version": have[wheel.project]}
        self._write_record(record)

    def fetch(self, wheels: Sequence[Wheel], say: Say) -> None:
        """Download and hash-check wheels into pip's cache, installing nothing.

        Raises:
            SetupError: as ``install``.
        """
        with tempfile.TemporaryDirectory(dir=self.prefix, prefix=".fetch-") as folder:
            self._pip_files(["download", f"--dest={folder}"], wheels, say)

    def remove(self, projects: Sequence[str], say: Say) -> None:
        """Uninstall projects that are there, and forget them.

        Raises:
            SetupError: pip fails.
        """
        have = installed(self.site)
        if there := [name for name in projects if name in have]:
            say(f"removing {', '.join(there)}")
            self._pip(["uninstall", "--yes", "--quiet", *there], {}, say)
        record = self.record()
        self._write_record({k: v for k, v in record.items() if k not in projects})

    def _pip_files(self, command: list[str], wheels: Sequence[Wheel], say: Say) -> None:
        with tempfile.TemporaryDirectory(dir=self.prefix, prefix=".wheels-") as folder:
            listed = Path(folder) / "requirements.txt"
            listed.write_text("".join(f"{w.requirement}\n" for w in wheels), encoding="utf-8")
            options = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
            options += ["--progress-bar=off", f"--requirement={listed}"]
            self._pip([*command, *options], {w.project: w for w in wheels}, say)

    def _pip(self, arguments: list[str], wheels: dict[str, Wheel], say: Say) -> None:
        temporary = Path(tempfile.mkdtemp(dir=self.prefix, prefix=".pip-"))
        try:
            process = subprocess.Popen(
                # -I: PYTHONPATH must not show pip another environment.
                [str(self.python), "-I", "-m", "pip", *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=pip_environment(temporary),
            )
            lines, seen = [], 0
            for line in process.stdout or ():
                lines.append(line)
                if line.startswith("Collecting "):
                    seen += 1
                    if seen % 25 == 0 or seen == len(wheels):
                        say(f"  {seen}/{len(wheels)} {line.split()[1].partition('=')[0]}")
            code = process.wait()
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        if code != 0:
            raise explain("".join(lines), wheels)


def explain(output: str, wheels: dict[str, Wheel]) -> SetupError:
    """Turn pip's output into one error that names the wheel."""
    if match := _MISMATCH.search(output):
        name, _, expected, got = match.groups()
        file = wheels[normalise(name)].file if normalise(name) in wheels else name
        return SetupError(
            f"{file}: the index gives a file with sha256 {got}, wheels.json says {expected}; "
            "nothing was installed",
            "git diff nix/wheels.json; if the lock is unchanged, distrust the index",
        )
    if match := _NETWORK.search(output):
        return SetupError(
            f"the package index cannot be reached: {match[0].strip()}; nothing was installed",
            "check the network, the proxy (https_proxy) and certificates (PIP_CERT=FILE)",
        )
    if match := re.search(r"No matching distribution found for (\S+?)===", output):
        wheel = wheels.get(normalise(match[1]))
        return SetupError(
            f"the index has no {wheel.file if wheel else match[1]} for this Python; "
            "nothing was installed",
            "check network and index (pip config list); if the file is gone: qwen3090 lock",
        )
    if "No space left on device" in output:
        return SetupError("the disk is full", "free space (df -h), then run the command again")
    tail = "\n".join(line for line in output.strip().splitlines()[-6:])
    return SetupError(f"pip failed:\n{tail}", "mend what it names, then run the command again")
