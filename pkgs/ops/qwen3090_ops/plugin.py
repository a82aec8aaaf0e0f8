"""Entry point `vllm.general_plugins`: registers our parts in each vLLM process.

vLLM calls it in the API process, the engine core and every worker, possibly more than once. It
only uses vLLM's registration functions; what needs other changes is a patch.
"""

from qwen3090_ops.version import require_vllm

_registered = False


def register() -> None:
    """Register the CPU linear kernel where the platform is a CPU; later calls do nothing.

    Raises:
        RuntimeError: vLLM is not the version this package was written for.
    """
    global _registered
    if _registered:
        return
    require_vllm()
    from vllm.platforms import current_platform

    if current_platform.is_cpu():
        from vllm.model_executor.kernels.linear import register_linear_kernel
        from vllm.platforms.interface import PlatformEnum

        from qwen3090_ops.cpu_linear import CPUDequantizedLinearKernel

        register_linear_kernel(CPUDequantizedLinearKernel, PlatformEnum.CPU, "mp")
    _registered = True
