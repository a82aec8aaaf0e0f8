"""Compiles two kernels as the engine would, each in a process that may be killed."""

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping

from qwen3090.doctor.context import Context
from qwen3090.doctor.jit import engine_environment, left_out
from qwen3090.doctor.outcome import Check, Outcome, fail, passed, skipped
from qwen3090.doctor.probe_result import WRONG_RESULT
from qwen3090.verify.cuda import NEXT
from qwen3090.verify.report import Finding

FLASHINFER_SECONDS, TRITON_SECONDS = 600.0, 180.0
# What compilers and linkers write; Python's own errors only say that they failed.
_COMPILER = re.compile(r"\b(fatal error|error): |cannot find -l|undefined reference")

FLASHINFER = fail(
    "jit.flashinfer",
    "FlashInfer's sampling kernels do not compile",
    "qwen3090 verify, then qwen3090 setup --engine cuda --repair; all of the error: "
    "{python} -m qwen3090.doctor.probe_flashinfer",
)
UNLINKED = fail(
    "jit.link",
    "the kernels compile, and the driver's libcuda.so is not where they are linked: it came after "
    "the set-up, or is missing (see libraries)",
    NEXT,
)
TRITON = fail(
    "jit.triton",
    "a Triton kernel does not compile, or does not run on the card",
    "qwen3090 verify, then qwen3090 setup --engine cuda --repair; all of the error: "
    "{python} -m qwen3090.doctor.probe_triton",
)
WRONG = fail(
    "jit.wrong",
    "the card computes something else than the kernel says",
    "qwen3090 doctor (Xid errors?); another driver, or another card",
)
SLOW = fail(
    "jit.slow",
    f"it takes longer than {FLASHINFER_SECONDS:.0f} s (FlashInfer) or {TRITON_SECONDS:.0f} s "
    "(Triton)",
    "run it again when the machine is idle, or leave it out: qwen3090 doctor --no-jit",
)


def flashinfer(context: Context) -> Iterator[Finding]:
    """Compile FlashInfer's sampling kernels."""
    yield _probe(context, "flashinfer", FLASHINFER_SECONDS, FLASHINFER)


def triton(context: Context) -> Iterator[Finding]:
    """Compile a Triton kernel, and run it on the card."""
    yield _probe(context, "triton", TRITON_SECONDS, TRITON)


def _probe(context: Context, name: str, seconds: float, broken: Outcome) -> Finding:
    reason = "left out by --no-jit" if not context.jit else left_out(context)
    if reason:
        return skipped(f"jit.{name}.compiled", reason)
    with tempfile.TemporaryDirectory(prefix="qwen3090-doctor-") as scratch:
        environ = {**engine_environment(context), **_scratch(scratch, context.machine.cores())}
        argv = [sys.executable, "-m", f"qwen3090.doctor.probe_{name}"]
        ran = context.machine.run(argv, seconds, environ)
    if ran.trouble == "hung":
        return SLOW.found(f"{name}: not compiled within {seconds:.0f} s")
    done = re.search(r"^DONE (.*)", ran.out, re.M)
    if ran.ok and done:
        return passed(f"jit.{name}.compiled", done[1])
    text = f"{ran.out}\n{ran.err}"
    outcome = WRONG if ran.status == WRONG_RESULT else broken
    if "cannot find -lcuda" in text:
        outcome = UNLINKED
    said = _last_error(text)
    return outcome.found(f"{name} (exit status {ran.status}): {said}", python=sys.executable)


def _scratch(folder: str, cores: int) -> Mapping[str, str]:
    """Return variables for a scratch folder: what lies in the user's caches proves nothing."""
    return {
        "FLASHINFER_WORKSPACE_BASE": folder,
        "FLASHINFER_CUDA_ARCH_LIST": "8.6",
        "FLASHINFER_DISABLE_VERSION_CHECK": "1",
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "MAX_JOBS": str(cores),
    }


def _last_error(text: str) -> str:
    """Return the line that says why: a compiler's error, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wanted = [line for line in lines if _COMPILER.search(line)]
    return (wanted or lines or ["no output"])[0 if wanted else -1][:300]


CHECKS = (
    Check(
        "jit.flashinfer.compiled",
        "Kernels",
        "compiles FlashInfer's sampling kernels for sm_86 in a scratch folder",
        flashinfer,
        (FLASHINFER, UNLINKED, SLOW),
    ),
    Check(
        "jit.triton.compiled",
        "Kernels",
        "compiles a Triton kernel for sm_86, and runs it when there is a card",
        triton,
        (TRITON, WRONG, SLOW),
    ),
)
