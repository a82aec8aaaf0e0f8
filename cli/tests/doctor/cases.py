"""A provocation for every outcome that a check declares: what makes the well machine that ill."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qwen3090.bounded import Ran
from qwen3090.doctor.xid_meaning import MEANINGS
from qwen3090.verify.settings import Asked

from .fake import CARD, Fake

# What a case may do: change the machine, and return the settings to ask for.
Case = Callable[[Fake], Asked | None]
WSL = "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f)\n"
NOWHERE = 4194303  # no process has it: the largest pid


def card(**changes: str) -> Case:
    """Return a case in which fields of the card differ; ``__`` stands for a dot."""

    def case(machine: Fake) -> None:
        machine.cards[0] |= {name.replace("__", "."): value for name, value in changes.items()}

    return case


def smi(ran: Ran) -> Case:
    """Return a case in which nvidia-smi answers nothing but this."""
    return lambda machine: machine.answers.update({"nvidia-smi": ran})


def answer(start: str, ran: Ran) -> Case:
    """Return a case in which a command answers this."""
    return lambda machine: machine.answers.update({start: ran})


def environ(**variables: str) -> Case:
    """Return a case with variables in the environment."""
    return lambda machine: machine.environ.update(variables)  # type: ignore[attr-defined]


def without(*paths: str) -> Case:
    """Return a case in which files are not there."""

    def case(machine: Fake) -> None:
        for path in paths:
            machine.remove(path)

    return case


def no_driver(machine: Fake) -> None:
    smi(Ran(None, trouble="missing"))(machine)
    without("/proc/driver/nvidia/version", "/dev/nvidiactl")(machine)


def hidden(machine: Fake) -> None:
    environ(CUDA_VISIBLE_DEVICES="7")(machine)
    smi(Ran(6, "No devices were found\n"))(machine)


def wsl(machine: Fake) -> None:
    """A WSL2 machine: one device, Windows' libraries, fields that the driver has not."""
    machine.write("/proc/version", WSL)
    machine.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    machine.write("/dev/dxg")
    without("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")(machine)
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.remove(f"/usr/lib/x86_64-linux-gnu/{name}")
        machine.write(f"/usr/lib/wsl/lib/{name}")
    card(persistence_mode="[N/A]", display_active="[N/A]")(machine)


def on_wsl(case: Case) -> Case:
    def both(machine: Fake) -> Asked | None:
        wsl(machine)
        return case(machine)

    return both


def well_on_wsl(machine: Fake) -> Asked:
    wsl(machine)
    return Asked(sets=["expandable_segments=false"])


def full(machine: Fake) -> None:
    card(memory__free="11871")(machine)
    machine.processes = [
        (NOWHERE, "G", "/usr/lib/xorg/Xorg", "412 MiB"),
        (NOWHERE, "C", "ollama", "11900 MiB"),
    ]


def xid(number: int) -> Case:
    line = (
        f"2026-11-29T22:04:11+0100 workbench kernel: NVRM: Xid (PCI:0000:01:00): {number}, "
        "pid=4711, name=python, Ch 00000008\n"
    )
    return answer("_TRANSPORT=kernel", Ran(0, line))


def mounted(kind: str) -> Case:
    return lambda machine: machine.write("/proc/self/mounts", f"x / ext4 rw\ny /state {kind} rw\n")


def free(path: str | None, size: int | None) -> Case:
    return lambda machine: machine.free.update({path: size})


def denied(path: str) -> Case:
    return lambda machine: machine.denied.add(path)


def memory(total_kb: int, available_kb: int) -> Case:
    text = f"MemTotal: {total_kb} kB\nMemAvailable: {available_kb} kB\nSwapFree: 0 kB\n"
    return lambda machine: machine.write("/proc/meminfo", text)


def asked(*sets: str) -> Case:
    return lambda machine: Asked(sets=sets)


def taken(machine: Fake) -> Asked:
    with listening() as port:
        machine.held = port  # type: ignore[attr-defined]
    return Asked(sets=[f"port={port}"])


@contextmanager
def listening() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def old_python(machine: Fake) -> None:
    machine.supported = ["3.9"]  # type: ignore[attr-defined]


def other_header(machine: Fake) -> None:
    header = machine.real / "include/cuda_runtime_api.h"
    header.write_text("#define CUDART_VERSION  12080\n")


def two_cards(machine: Fake) -> None:
    machine.cards.insert(0, {**CARD, "name": "NVIDIA GeForce GTX 1660"})


def failed(text: str, status: int = 1) -> Ran:
    return Ran(status, "", f"Traceback (most recent call last):\n{text}\n")


KEY = "api_key_file=/run/key"
CASES: dict[str, Case] = {
    "driver.missing": no_driver,
    "driver.smi": smi(Ran(None, trouble="missing")),
    "driver.hung": smi(Ran(None, trouble="hung")),
    "driver.mismatch": smi(Ran(18, "Failed to initialize NVML: Driver/library version mismatch\n")),
    "driver.failed": smi(
        Ran(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
    ),
    "driver.no-card": smi(Ran(6, "No devices were found\n")),
    "driver.hidden": hidden,
    "driver.old": card(driver_version="570.153.02"),
    "libraries.cuda": without("/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
    "libraries.nvml": without("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
    "devices.missing": without("/dev/nvidia-uvm"),
    "devices.wsl": on_wsl(without("/dev/dxg")),
    "devices.denied": denied("/dev/nvidiactl"),
    "card.small": card(name="NVIDIA GeForce RTX 3080", memory__total="10240"),
    "card.capability": card(name="NVIDIA TITAN RTX", compute_cap="7.5"),
    "card.sm80": card(name="NVIDIA A100-PCIE-40GB", compute_cap="8.0", memory__total="40960"),
    "card.other": card(name="NVIDIA GeForce RTX 4090", compute_cap="8.9"),
    "card.prohibited": card(compute_mode="Prohibited"),
    "card.ecc": card(name="NVIDIA A10", ecc__mode__current="Enabled"),
    "card.several": two_cards,
    "display.shared": card(display_active="Enabled"),
    "display.persistence": card(persistence_mode="Disabled"),
    "pcie.narrow": card(pcie__link__width__current="4"),
    "pcie.slow": card(pcie__link__gen__max="2"),
    "vram.taken": full,
    "vram.tight": asked("kv_bytes=9GiB"),
    "power.low": card(power__limit="200.00"),
    "clocks.heat": card(clocks_event_reasons__active="0x0000000000000020"),
    "clocks.brake": card(clocks_event_reasons__active="0x0000000000000088"),
    "clocks.hardware": card(clocks_event_reasons__active="0x0000000000000008"),
    "temperature.high": card(temperature__gpu="84"),
    "temperature.limit": card(temperature__gpu="94"),
    "xid.card": xid(79),
    "xid.program": xid(31),
    "xid.unknown": xid(max(MEANINGS) + 1),
    "wsl.version": lambda m: m.write("/proc/version", "Linux version 4.4.0-19041-Microsoft\n"),
    "wsl.kernel": on_wsl(
        lambda m: m.write("/proc/sys/kernel/osrelease", "4.19.104-microsoft-standard\n")
    ),
    "wsl.driver": on_wsl(lambda m: m.write("/usr/lib/x86_64-linux-gnu/libcuda.so.1")),
    "wsl.segments": on_wsl(lambda m: Asked(sets=["expandable_segments=true"])),
    "wsl.network": on_wsl(asked("host=0.0.0.0", KEY)),
    "disk.full": free("/state", 10 * 10**9),
    "disk.denied": denied("/state"),
    "disk.links": mounted("9p"),
    "disk.remote": mounted("nfs4"),
    "cache.full": free("/home/ada/.cache", 10**9),
    "cache.denied": denied("/home/ada/.cache"),
    "ram.short": memory(16_000_000, 4_000_000),
    "ram.small": memory(16_000_000, 14_000_000),
    "shm.missing": denied("/dev/shm"),
    "shm.small": free("/dev/shm", 1 << 20),
    "system.platform": old_python,
    "system.cores": lambda m: setattr(m, "core_count", 1),
    "system.files": lambda m: setattr(m, "files_limit", 1024),
    "settings.wrong": asked("draft_tokens=9"),
    "environment.clock": lambda m: setattr(m, "year", 1970),
    "environment.proxy": environ(https_proxy="", http_proxy="http://proxy.example:3128"),
    "environment.blocking": environ(CUDA_LAUNCH_BLOCKING="1"),
    "environment.architecture": environ(TORCH_CUDA_ARCH_LIST="9.0"),
    "port.taken": taken,
    "port.address": asked("host=192.0.2.1", KEY),
    "port.exposed": asked("host=0.0.0.0", KEY),
    "jit.toolchain": lambda m: (m.real / "include/curand_kernel.h").unlink(),
    "jit.versions": other_header,
    "jit.tools": lambda m: m.tools.discard("ninja"),
    "jit.flashinfer": answer("probe_flashinfer", failed("fatal error: curand.h: No such file")),
    "jit.link": answer("probe_flashinfer", failed("/usr/bin/ld: cannot find -lcuda")),
    "jit.triton": answer("probe_triton", failed("RuntimeError: Failed to find C compiler")),
    "jit.wrong": answer("probe_triton", failed("the kernel's sum is wrong on this card", 3)),
    "jit.slow": answer("probe_triton", Ran(None, trouble="hung")),
}
