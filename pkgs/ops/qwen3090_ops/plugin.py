"""Entry point `vllm.general_plugins`: registers our parts in each vLLM process.

vLLM calls it in the API process, the engine core and every worker, possibly more than once. It
only uses vLLM's registration functions; what needs other changes is a patch.
"""

from qwen3090_ops.version import require_vllm

PARSER = "qwen3090"  # the name of our parsers of reasoning and of tool calls
FLASH_ATTENTION = "qwen3090_ops.attention.backend.SplitFlashAttentionBackend"
TRITON_ATTENTION = "qwen3090_ops.attention.triton_backend.SplitTritonBackend"
_registered = False


def register() -> None:
    """Register parsers, attention and, on a CPU, its linear kernel; later calls do nothing.

    Raises:
        RuntimeError: vLLM is not the version this package was written for.
    """
    global _registered
    if _registered:
        return
    require_vllm()
    from vllm.platforms import current_platform
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

    register_backend(AttentionBackendEnum.FLASH_ATTN, FLASH_ATTENTION)
    register_backend(AttentionBackendEnum.TRITON_ATTN, TRITON_ATTENTION)
    module = "qwen3090_ops.tool_calls"
    ReasoningParserManager.register_lazy_module(PARSER, module, "ReasoningParser")
    ToolParserManager.register_lazy_module(PARSER, module, "ToolParser")
    if current_platform.is_cpu():
        from vllm.model_executor.kernels.linear import register_linear_kernel
        from vllm.platforms.interface import PlatformEnum

        from qwen3090_ops.cpu_linear import CPUDequantizedLinearKernel

        register_linear_kernel(CPUDequantizedLinearKernel, PlatformEnum.CPU, "mp")
    _registered = True
