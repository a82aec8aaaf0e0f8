"""A machine of the NixOS test driver's kind, made of name spaces instead of a virtual machine."""

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

BOOT = Path(__file__).with_name("boot.sh")
PATIENCE = 90.0


class MachineError(AssertionError):
    """A command did not end as the script expects."""


class Machine:
    """systemd as process 1, with the units of one host of the bundle.

    Args:
        name: the host's folder in the bundle.
        bundle: what checks/vm/bundle.nix makes.
    """

    def __init__(self, name: str, bundle: Path) -> None:
        self.name = name
        self._work = Path(tempfile.mkdtemp(prefix=f"qwen3090-{name}-"))
        self._cgroup = _cgroup_root() / f"qwen3090-check-{self._work.name}"
        self._cgroup.mkdir()
        self._log = (self._work.with_suffix(".log")).open("wb")
        kinds = [
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--ipc",
            "--uts",
            "--net",
            "--cgroup",
        ]
        # The shell enters the cgroup first: the cgroup name space starts where it stands.
        start = 'echo $$ > "$1/cgroup.procs"; shift; exec unshare "$@"'
        boot = ["bash", str(BOOT), str(self._work), str(bundle), name]
        self._outer = subprocess.Popen(
            ["bash", "-c", start, "-", str(self._cgroup), *kinds, *boot],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self.pid = self._find_init()

    def _find_init(self) -> int:
        """Return the pid, on this host, of the machine's process 1 once it is systemd."""
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._outer.poll() is None:
            for pid in children.read_text().split():
                if "systemd" in Path(f"/proc/{pid}/comm").read_text():
                    return int(pid)
            time.sleep(0.05)
        raise MachineError(f"{self.name} did not boot: {self.log()}")

    def log(self) -> str:
        """Return what was printed on the way to systemd."""
        return self._work.with_suffix(".log").read_text(errors="replace")

    def execute(self, command: str, timeout: float = PATIENCE) -> tuple[int, str]:
        """Run a shell command in the machine; return its status and standard output."""
        words = ["nsenter", "-t", str(self.pid), "-m", "-p", "-i", "-u", "-n", "-C", "-r", "-w"]
        done = subprocess.run(
            [*words, "bash", "-o", "pipefail", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        )
        self.last_error = done.stderr
        return done.returncode, done.stdout

    def succeed(self, command: str) -> str:
        """Run a command that must end with status 0; return its output."""
        status, output = self.execute(command)
        if status:
            raise MachineError(
                f"{self.name}: {command}: status {status}: {output}{self.last_error}"
            )
        return output

    def fail(self, command: str) -> str:
        """Run a command that must not end with status 0; return its output."""
        status, output = self.execute(command)
        if status == 0:
            raise MachineError(f"{self.name}: {command}: succeeded: {output}")
        return output

    def wait_for_unit(self, unit: str) -> None:
        """Wait until a unit is active; fail at once when it has failed for good."""

        def active(_last: bool) -> bool:
            state = self.execute(f"systemctl show -P ActiveState {unit}")[1].strip()
            if state == "failed":
                raise MachineError(f"{unit} failed: {self.execute(f'journalctl -u {unit}')[1]}")
            return state == "active"

        retry(active)

    def stop(self) -> None:
        """End everything in it and remove what it was made of."""
        subprocess.run(["kill", "-9", str(self.pid)], check=False)
        self._outer.wait(timeout=30)
        self._log.close()
        for folder in sorted(self._cgroup.glob("**/"), reverse=True):
            folder.rmdir()
        self._work.rmdir()
        self._work.with_suffix(".log").unlink()


def retry(condition: Callable[[bool], bool], timeout: float = PATIENCE) -> None:
    """Call a condition until it is true; its argument is true on the last attempt."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition(False):
            return
        time.sleep(0.25)
    if not condition(True):
        raise MachineError(f"not within {timeout:.0f} s")


def _cgroup_root() -> Path:
    """Return where the host has the unified cgroup hierarchy."""
    top = Path("/sys/fs/cgroup")
    for place in (top, top / "unified"):
        if (place / "cgroup.procs").exists() and (place / "cgroup.controllers").exists():
            return place
    raise MachineError("no unified cgroup hierarchy below /sys/fs/cgroup")
