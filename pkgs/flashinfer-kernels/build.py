"""Compiles the FlashInfer modules that the profiles use and writes them as flashinfer_jit_cache.

usage: build.py SITE-PACKAGES   (FLASHINFER_CUDA_ARCH_LIST names the card; no GPU is needed)

A module's name encodes its parameters, so one that vLLM does not ask for is never loaded.
"""

import shutil
import sys
from pathlib import Path

import torch
from flashinfer.jit import build_jit_specs
from flashinfer.jit import env as jit_env
from flashinfer.jit.attention import gen_batch_prefill_module
from flashinfer.jit.core import JitSpec
from flashinfer.jit.sampling import gen_sampling_module
from flashinfer.jit.topk import gen_topk_module
from flashinfer.version import __version__

HEAD = 256  # the model's head dimension

INIT = '''"""FlashInfer kernels for sm_86, compiled when the package was built."""

from pathlib import Path

__version__ = "{version}"


def get_jit_cache_dir() -> str:
    """Return the directory that holds NAME/NAME.so for each module."""
    return str(Path(__file__).parent / "jit_cache")
'''


def modules() -> list[JitSpec]:
    """Return what the profiles use: fp8 attention (decode runs as prefill too), top-k, sampling."""
    attention = gen_batch_prefill_module(
        "fa2",
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.bfloat16,
        torch.int32,
        HEAD,
        HEAD,
        0,  # no positional encoding: vLLM applies it
        False,
        False,
        False,
    )
    return [attention, gen_topk_module(), gen_sampling_module()]


def main(site: Path) -> None:
    """Build and install every module."""
    package = site / "flashinfer_jit_cache"
    specs = modules()
    build_jit_specs(specs, verbose=False, skip_prebuilt=False)
    for spec in specs:
        built = jit_env.FLASHINFER_JIT_DIR / spec.name / f"{spec.name}.so"
        target = package / "jit_cache" / spec.name
        target.mkdir(parents=True)
        shutil.copy(built, target)
        print(f"{spec.name}: {built.stat().st_size / 1e6:.1f} MB")
    (package / "__init__.py").write_text(INIT.format(version=__version__), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
