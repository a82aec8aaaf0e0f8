"""A linear kernel for packed 4- and 8-bit weights on the CPU; vLLM 0.28.0 has none for 8 bits.

Plain on purpose: after loading, the packed weight is replaced by the dense one in the activation
dtype (2 bytes a weight in bf16: twice the memory of int8, four times that of int4), and a layer is
one matrix product. It is registered last, so vLLM's own 4-bit kernel keeps its work.
"""

import torch
from vllm.model_executor.kernels.linear import MPLinearKernel, MPLinearLayerConfig
from vllm.platforms import current_platform
from vllm.scalar_type import scalar_types

from qwen3090_ops.packed import dequantize

_BITS = {scalar_types.uint4b8: 4, scalar_types.uint8b128: 8}
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


class CPUDequantizedLinearKernel(MPLinearKernel):  # type: ignore[misc]
    """Symmetric 4- or 8-bit weights, one scale per group or row, any floating activation."""

    @classmethod
    def get_min_capability(cls) -> int:
        """Return -1: the CPU has no compute capability."""
        return -1

    @classmethod
    def can_implement(cls, c: MPLinearLayerConfig) -> tuple[bool, str | None]:
        """Say whether a layer fits, and if not, why."""
        if not current_platform.is_cpu():
            return False, "this kernel is for the CPU"
        if c.weight_type not in _BITS:
            return False, f"weight type {c.weight_type}; supported: {list(_BITS)}"
        if c.zero_points or c.has_g_idx:
            return False, "zero points and activation reordering are not supported"
        if c.act_type not in _DTYPES:
            return False, f"activation type {c.act_type}; supported: {_DTYPES}"
        columns = c.partition_weight_shape[0]
        if c.group_size != -1 and columns % c.group_size:
            return False, f"input size {columns} is no multiple of the group {c.group_size}"
        if columns % (32 // _BITS[c.weight_type]):
            return False, f"input size {columns} does not fill whole 32-bit words"
        return True, None

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        """Replace [out, words] packed and [out, groups] scales by the dense [out, in]."""
        packed, scale, _, _ = self._get_weight_params(layer)
        dense = dequantize(
            packed.data, scale.data, _BITS[self.config.weight_type], self.config.act_type
        )
        self._transform_param(layer, self.w_q_name, lambda _: dense)
        self._transform_param(layer, self.w_s_name, lambda p: p.data.new_empty(0))

    def apply_weights(
        self, layer: torch.nn.Module, x: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return x [..., in] times the weight, plus bias: [..., out] in x's dtype."""
        return torch.nn.functional.linear(x, self._get_weight_params(layer)[0], bias)
