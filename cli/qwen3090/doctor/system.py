"""What lies under the engine: platform, settings, limits, clock, variables in the way."""

import platform
from collections.abc import Iterator

from qwen3090.config import Resolved
from qwen3090.data import load_json
from qwen3090.doctor.context import Context
from qwen3090.doctor.outcome import Check, fail, passed, warn
from qwen3090.setup.machine import Machine as Interpreter
from qwen3090.setup.machine import SetupError
from qwen3090.verify.report import Finding

UNSUPPORTED = fail("system.platform", "interpreter or machine has no locked wheels", "{cure}")
FEW_CORES = warn(
    "system.cores",
    "one core only: scheduler, API server and engine core wait for each other",
    "nproc (a container or virtual machine: give it more)",
)
FEW_FILES = warn(
    "system.files",
    "a process may open fewer than 4,096 files, and each client takes one",
    "ulimit -Hn 65535 (systemd: LimitNOFILE=65535)",
)


def system(context: Context) -> Iterator[Finding]:
    """Check the platform, and name kernel and distribution."""
    machine = context.machine
    try:
        # Under Nix the interpreter is in no virtual environment, and need not be.
        Interpreter(in_venv=True).check(load_json("pins.json")["python"]["supported"])
    except SetupError as error:
        yield UNSUPPORTED.found(str(error), cure=error.next_step)
    cores, files = machine.cores(), machine.open_files_limit()
    if cores < 2:
        yield FEW_CORES.found(f"{cores} core")
    if 0 <= files < 4096:
        yield FEW_FILES.found(f"at most {files} open files")
    release = (machine.text("/proc/sys/kernel/osrelease") or "unknown").strip()
    yield passed(
        "system",
        f"{distribution(context)}, Linux {release}, Python {platform.python_version()}, "
        f"{cores} cores",
    )


def distribution(context: Context) -> str:
    """Return the distribution's name and version."""
    for line in (context.machine.text("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip().strip('"')
    return "unknown distribution"


WRONG = fail("settings.wrong", "the settings cannot be read or cannot be served", "{cure}")


def settings(context: Context) -> Iterator[Finding]:
    """Check that the settings can be read and served."""
    found = context.settings
    problems = found.problems if isinstance(found, Resolved) else found
    for item in problems:
        text = f"{item.where}: {item.text}" if item.where else item.text
        yield WRONG.found(text, cure=item.next_step or "qwen3090 config show")
    if not problems:
        yield passed("settings", f"profile {context.profile} can be served")


# The lock is younger than this: a clock before it is wrong, and TLS refuses every certificate.
FIRST_YEAR = 2026

PAST = fail(
    "environment.clock",
    f"the clock shows a year before {FIRST_YEAR}, so that no certificate is valid",
    "sudo timedatectl set-ntp true",
)
PROXY = warn(
    "environment.proxy",
    "a proxy is set, and NO_PROXY does not leave this machine out: clients ask it for localhost",
    "export NO_PROXY=localhost,127.0.0.1",
)
BLOCKING = warn(
    "environment.blocking",
    "CUDA_LAUNCH_BLOCKING is set: each kernel is waited for",
    "unset CUDA_LAUNCH_BLOCKING",
)
ARCHITECTURE = warn(
    "environment.architecture",
    "a list of compute capabilities is set and lacks 8.6, which kernels are then not compiled for",
    "unset {name}",
)


def environment(context: Context) -> Iterator[Finding]:
    """Check clock and variables that spoil a run without saying so."""
    environ, now = context.machine.environ, context.machine.now()
    bad = []
    if now.year < FIRST_YEAR:
        bad.append(PAST.found(f"the clock shows {now:%Y-%m-%d}"))
    names = [n for n in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY") if environ.get(n)]
    left_out = f"{environ.get('NO_PROXY', '')},{environ.get('no_proxy', '')}"
    if names and not any(w in left_out for w in ("localhost", "127.0.0.1", "*")):
        bad.append(PROXY.found(f"{', '.join(names)} set, NO_PROXY without localhost"))
    if environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        bad.append(BLOCKING.found(f"CUDA_LAUNCH_BLOCKING = {environ['CUDA_LAUNCH_BLOCKING']}"))
    for name in ("TORCH_CUDA_ARCH_LIST", "FLASHINFER_CUDA_ARCH_LIST"):
        value = environ.get(name, "")
        if value and "8.6" not in value:
            bad.append(ARCHITECTURE.found(f"{name} = {value}", name=name))
    good = passed("environment", f"clock {now:%Y-%m-%d %H:%M} UTC, no variable in the way")
    yield from bad or [good]


CHECKS = (
    Check(
        "system",
        "System",
        "interpreter, architecture, cores, open files",
        system,
        (UNSUPPORTED, FEW_CORES, FEW_FILES),
    ),
    Check("settings", "System", "the settings of the profile", settings, (WRONG,)),
    Check(
        "environment",
        "System",
        "clock, proxies, variables of CUDA",
        environment,
        (PAST, PROXY, BLOCKING, ARCHITECTURE),
    ),
)
