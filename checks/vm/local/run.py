"""Runs the VM test's own script on machines made of name spaces, under the host's systemd.

Real: systemd as process 1, the rendered units with their whole sandbox, the command line.
Not there: NixOS itself, its firewall, a card. Needs root. usage: run.py BUNDLE
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from machine import Machine, retry

ADDRESSES = {"home": "10.90.0.1/24", "lan": "10.90.0.2/24"}


@contextmanager
def subtest(name: str) -> Iterator[None]:
    """Print a part's name and how long it took."""
    start = time.monotonic()
    print(f"   {name} ...", end=" ", flush=True)
    yield
    print(f"{time.monotonic() - start:.1f} s", flush=True)


def connect(machines: dict[str, Machine]) -> None:
    """Join the machines by a cable of two virtual network cards."""
    ends = list(machines.values())
    for machine in ends:
        machine.succeed("ip link set lo up")
    first, second = (str(machine.pid) for machine in ends)
    words = f"nsenter -t {first} -n ip link add eth0 type veth peer name eth0 netns {second}"
    subprocess.run(words.split(), check=True)
    for machine in ends:
        machine.succeed(f"ip address add {ADDRESSES[machine.name]} dev eth0 && ip link set eth0 up")


def main(bundle: Path) -> None:
    """Boot, run the script, clean up."""
    machines: dict[str, Machine] = {}
    try:
        for name in ADDRESSES:
            machines[name] = Machine(name, bundle)
        connect(machines)
        script = bundle / "script.py"
        given: dict[str, Any] = {
            **machines,
            "retry": retry,
            "start_all": lambda: None,
            "subtest": subtest,
        }
        exec(compile(script.read_text(), str(script), "exec"), given)
    except BaseException:
        for machine in machines.values():
            said = machine.execute("journalctl --no-pager -n 30")[1]
            print(f"\n-- journal of {machine.name}\n{said}")
        raise
    finally:
        for machine in machines.values():
            machine.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
