"""Compiles FlashInfer's sampling kernels for sm_86, in a process of its own that may be killed.

Of the modules that the profiles use (pkgs/flashinfer-kernels) it is the one whose source includes
curand's header. FLASHINFER_WORKSPACE_BASE names the scratch folder; no card is needed.
"""

from flashinfer.jit import build_jit_specs
from flashinfer.jit.env import FLASHINFER_JIT_DIR
from flashinfer.jit.sampling import gen_sampling_module

if __name__ == "__main__":
    spec = gen_sampling_module()
    build_jit_specs([spec], verbose=False, skip_prebuilt=False)
    built = FLASHINFER_JIT_DIR / spec.name / f"{spec.name}.so"
    print(f"DONE {spec.name} module compiled, {built.stat().st_size / 1e6:.1f} MB")
