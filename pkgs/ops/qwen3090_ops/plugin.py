"""Entry point `vllm.general_plugins`: registers our parts in each vLLM process.

vLLM calls it in the API process, the engine core and every worker, possibly more than once. It
only uses vLLM's registration functions; what needs other changes is a patch.
"""

from qwen3090_ops.version import require_vllm

PARSER = "qwen3090"  # the name of our parsers of reasoning and of tool calls
_registered = False


def register() -> None:
    """Register the parsers, and the CPU linear kernel on a CPU; later calls do nothing.

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

    module = "qwen3090_ops.tool_calls"
    ReasoningParserManager.register_lazy_module(PARSER, module, "ReasoningParser")
    ToolParserManager.register_lazy_module(PARSER, module, "ToolParser")
    if current_platform.is_cpu():
        from vllm.model_executor.kernels.linear import register_linear_kernel
        from vllm.platforms.interface import PlatformEnum

        from qwen3090_ops.cpu_linear import CPUDequantizedLinearKernel

        register_linear_kernel(CPUDequantizedLinearKernel, PlatformEnum.CPU, "mp")
    _registered = True
