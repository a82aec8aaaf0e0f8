"""A machine that is well, and can be made ill: an RTX 3090 on Debian, driver 580, idle."""

import datetime
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qwen3090.bounded import Ran
from qwen3090.data import load_json
from qwen3090.doctor.machine import Machine

GIB = 2**30
CARD = {
    "name": "NVIDIA GeForce RTX 3090",
    "driver_version": "580.95.05",
    "compute_cap": "8.6",
    "memory.total": "24576",
    "memory.free": "24219",
    "power.limit": "350.00",
    "power.default_limit": "350.00",
    "power.draw": "27.41",
    "clocks.sm": "210",
    "clocks.mem": "405",
    "clocks.max.sm": "2100",
    "clocks_event_reasons.active": "0x0000000000000001",
    "temperature.gpu": "41",
    "pcie.link.gen.current": "1",
    "pcie.link.gen.max": "4",
    "pcie.link.width.current": "16",
    "pcie.link.width.max": "16",
    "persistence_mode": "Enabled",
    "ecc.mode.current": "[N/A]",
    "display_active": "Disabled",
    "compute_mode": "Default",
}
FILES = {
    "/proc/version": "Linux version 6.12.48+deb13-amd64 (debian-kernel@lists.debian.org)\n",
    "/proc/sys/kernel/osrelease": "6.12.48+deb13-amd64\n",
    "/proc/sys/kernel/hostname": "workbench\n",
    "/proc/meminfo": "MemTotal:       65796024 kB\nMemFree:  1024 kB\nMemAvailable:   51234567 kB\n"
    "SwapTotal:       8388604 kB\nSwapFree:        8388604 kB\n",
    "/proc/self/mounts": "/dev/nvme0n1p2 / ext4 rw,relatime 0 0\n",
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module  580.95.05\n",
    "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\n',
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n"
    "ada:x:1000:1000:Ada Byron,,,:/home/ada:/bin/bash\n",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "",
    "/dev/nvidia0": "",
    "/dev/nvidiactl": "",
    "/dev/nvidia-uvm": "",
    f"{sysconfig.get_paths()['include']}/Python.h": "",
}
QUIET_KERNEL = "2026-11-30T09:12:01+0100 workbench kernel: NVRM: loading NVIDIA UNIX Open Module\n"


@dataclass
class Fake(Machine):
    """What the real machine is asked for, answered from tables.

    Attributes:
        real: a folder that is read as it is, without the root before it.
        cards: fields of each card.
        processes: pid, type, name, MiB (or "N/A") of what is on the card.
        answers: what a command prints, by the beginning of its command line; or a function.
        free: free bytes by folder; ``None`` as key stands for the others.
        denied: what this user has no right to.
        tools: programs on PATH.
    """

    real: Path = Path("/nowhere")
    cards: list[dict[str, str]] = field(default_factory=lambda: [dict(CARD)])
    processes: list[tuple[int, str, str, str]] = field(default_factory=list)
    answers: dict[str, Ran | Callable[[Sequence[str]], Ran]] = field(default_factory=dict)
    free: dict[str | None, int | None] = field(default_factory=lambda: {None: 500 * 10**9})
    denied: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=lambda: {"gcc", "g++", "ninja"})
    files_limit: int = 1_048_576
    core_count: int = 16
    year: int = 2026
    calls: list[list[str]] = field(default_factory=list)

    def at(self, path: str | Path) -> Path:
        inside = Path(path).is_relative_to(self.real)
        return Path(path) if inside else super().at(path)

    def write(self, path: str, text: str = "") -> None:
        target = self.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def remove(self, path: str) -> None:
        self.at(path).unlink()

    def run(self, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None) -> Ran:
        self.calls.append(list(argv))
        line = " ".join(argv)
        for start, answer in self.answers.items():
            if start in line:
                return answer(argv) if callable(answer) else answer
        if argv[0] == "nvidia-smi":
            return self._smi(argv)
        return Ran(None, trouble="missing")

    def _smi(self, argv: Sequence[str]) -> Ran:
        if "-x" in argv:
            entries = "".join(
                f"<process_info><pid>{pid}</pid><type>{kind}</type><process_name>{name}"
                f"</process_name><used_memory>{used}</used_memory></process_info>"
                for pid, kind, name, used in self.processes
            )
            return Ran(
                0, f"<nvidia_smi_log><gpu><processes>{entries}</processes></gpu></nvidia_smi_log>"
            )
        fields = argv[1].removeprefix("--query-gpu=").split(",")
        unknown = [name for name in fields if name not in self.cards[0]] if self.cards else []
        if unknown:
            return Ran(2, f'Field "{unknown[0]}" is not a valid field to query.\n\n')
        rows = [", ".join(card[name] for name in fields) for card in self.cards]
        return Ran(0, "\n".join(rows) + "\n") if rows else Ran(6, "No devices were found\n")

    def which(self, program: str, path: str | None = None) -> str | None:
        return f"/usr/bin/{program}" if program in self.tools else None

    def may(self, path: str | Path, mode: int) -> bool:
        return str(path) not in self.denied

    def free_bytes(self, path: Path) -> int | None:
        return self.free.get(str(path), self.free[None])

    def open_files_limit(self) -> int:
        return self.files_limit

    def cores(self) -> int:
        return self.core_count

    def now(self) -> datetime.datetime:
        return datetime.datetime(self.year, 11, 30, 12, 0, tzinfo=datetime.UTC)


def cuda_home(folder: Path) -> Path:
    """Make a folder with the files of the pinned toolchain."""
    for name in load_json("pins.json")["cuda"]["files"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    header = folder / "include/cuda_runtime_api.h"
    header.write_text("#define CUDART_VERSION  13000\n")
    return folder
