"""Compiles a Triton kernel for sm_86, and runs it when there is a card, in a process of its own.

TRITON_CACHE_DIR names the scratch folder. A wrong sum ends with status 3.
"""

import sys

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from qwen3090.doctor.probe_result import WRONG_RESULT

SIZE = 1000
BLOCK = 256


@triton.jit  # type: ignore[untyped-decorator]
def add(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: D103
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def compile_for_86() -> int:
    """Return the size of the machine code in bytes."""
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=add, signature=signature, constexprs={"BLOCK": BLOCK})
    return len(triton.compile(source, target=GPUTarget("cuda", 86, 32)).asm["cubin"])


def add_on_card() -> bool:
    """Return whether the card adds two vectors right."""
    x = torch.arange(SIZE, dtype=torch.float32, device="cuda")
    out = torch.empty_like(x)
    add[(triton.cdiv(SIZE, BLOCK),)](x, x, out, SIZE, BLOCK=BLOCK)
    return bool(torch.equal(out, x + x))


if __name__ == "__main__":
    size = compile_for_86()
    if not torch.cuda.is_available():
        print(f"DONE compiled, {size} bytes; PyTorch sees no card to run it on")
    elif add_on_card():
        print(f"DONE compiled, {size} bytes, and run on the card")
    else:
        print("the kernel's sum is wrong on this card")
        sys.exit(WRONG_RESULT)
