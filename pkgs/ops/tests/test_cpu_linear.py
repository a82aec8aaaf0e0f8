"""The CPU linear kernel inside vLLM's own layer classes, against an explicit dense product."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ROWS, COLUMNS = 192, 384


@pytest.fixture(scope="module", autouse=True)
def one_process_engine() -> Iterator[None]:
    """Give vLLM's layers the little state they need: a config and a group of one."""
    pytest.importorskip("vllm")
    from qwen3090_ops.plugin import register
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.distributed import (
        cleanup_dist_env_and_memory,
        init_distributed_environment,
        initialize_model_parallel,
    )
    from vllm.utils.network_utils import get_open_port

    register()
    with set_current_vllm_config(VllmConfig()):
        address = f"tcp://127.0.0.1:{get_open_port()}"
        init_distributed_environment(1, 0, address, 0, backend="gloo")
        initialize_model_parallel(1, 1)
        yield
    cleanup_dist_env_and_memory()


def quantization_config(bits: int, target: str) -> Any:
    from vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors import (
        CompressedTensorsConfig,
    )

    weights = {"num_bits": bits, "type": "int", "symmetric": True, "dynamic": False}
    weights |= {"strategy": "group", "group_size": 128}
    group = {"targets": [target], "weights": weights}
    group |= {"input_activations": None, "output_activations": None}
    return CompressedTensorsConfig.from_config(
        {"format": "pack-quantized", "config_groups": {"group_0": group}, "ignore": []}
    )


def checkpoint(bits: int, rows: int, columns: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return the tensors of a packed weight and the float32 weight they stand for."""
    generator = torch.Generator().manual_seed(bits)
    codes = torch.randint(-(1 << (bits - 1)), 1 << (bits - 1), (rows, columns), generator=generator)
    scale = torch.rand(rows, columns // 128, generator=generator).to(torch.bfloat16) * 0.01
    scale[1::3] *= -1
    shifted = (codes + (1 << (bits - 1))).view(rows, -1, 32 // bits)
    words = (shifted << (torch.arange(32 // bits) * bits)).sum(-1)
    words = torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)
    dense = codes.float() * scale.float().repeat_interleave(128, 1)
    tensors = {"weight_packed": words, "weight_scale": scale}
    return tensors | {"weight_shape": torch.tensor([rows, columns])}, dense


def load(layer: Any, tensors: dict[str, torch.Tensor]) -> None:
    for name, tensor in tensors.items():
        parameter = getattr(layer, name)
        parameter.weight_loader(parameter, tensor)
    layer.quant_method.process_weights_after_loading(layer)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("batch", [1, 3, 7, 17])
def test_linear_with_8_bits(dtype: torch.dtype, batch: int) -> None:
    from vllm.model_executor.layers.linear import ReplicatedLinear

    layer = ReplicatedLinear(
        COLUMNS,
        ROWS,
        bias=False,
        params_dtype=dtype,
        quant_config=quantization_config(8, "re:.*fc$"),
        prefix="mtp.fc",
        return_bias=False,
    )
    tensors, dense = checkpoint(8, ROWS, COLUMNS)
    load(layer, tensors)
    assert type(layer.scheme.kernel).__module__ == "qwen3090_ops.cpu_linear"
    x = torch.randn(batch, COLUMNS, generator=torch.Generator().manual_seed(0)).to(dtype)
    answered = layer(x)
    assert answered.shape == (batch, ROWS)
    assert answered.dtype == dtype
    # the weight is exact in float32; products differ by the order of summation alone
    reference = x.double() @ dense.to(dtype).double().T
    limit = 1e-5 if dtype == torch.float32 else 0.01
    assert (answered.double() - reference).abs().max() <= limit * reference.abs().max()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rows", [192, 200])
def test_head_of_4_and_8_bits_with_and_without_padding(bits: int, rows: int) -> None:
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    head = ParallelLMHead(
        rows,
        256,
        params_dtype=torch.bfloat16,
        quant_config=quantization_config(bits, "re:.*lm_head$"),
        prefix="lm_head",
    )
    tensors, dense = checkpoint(bits, rows, 256)
    load(head, tensors)
    x = torch.randn(5, 256, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    answered = head.quant_method.apply(head, x)[:, :rows].double()
    reference = x.double() @ dense.double().T
    assert (answered - reference).abs().max() <= 0.02 * reference.abs().max()


@pytest.mark.parametrize("bits", [4, 8])
def test_packed_embedding_looks_up_what_the_table_holds(bits: int) -> None:
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    table = VocabParallelEmbedding(
        512,
        256,
        params_dtype=torch.bfloat16,
        quant_config=quantization_config(bits, "re:.*embed_tokens$"),
        prefix="model.embed_tokens",
    )
    tensors, dense = checkpoint(bits, 512, 256)
    load(table, tensors)
    assert not hasattr(table, "weight")
    ids = torch.tensor([[0, 511, 3], [3, 77, 1]])
    assert torch.equal(table(ids), dense.to(torch.bfloat16)[ids])


def test_a_table_without_a_rule_stays_dense() -> None:
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    table = VocabParallelEmbedding(
        64, 128, quant_config=quantization_config(8, "Linear"), prefix="model.embed_tokens"
    )
    assert table.weight.shape == (64, 128)


def test_registering_again_adds_nothing_and_selftest_finds_the_kernel() -> None:
    from qwen3090_ops import plugin
    from qwen3090_ops.selftest import selftest
    from vllm.model_executor.kernels import linear
    from vllm.platforms.interface import PlatformEnum

    plugin.register()
    plugin.register()
    kernels = linear._POSSIBLE_KERNELS[PlatformEnum.CPU]
    assert [k.__name__ for k in kernels].count("CPUDequantizedLinearKernel") == 1
    hooks = {hook["name"]: hook for hook in selftest()}
    assert hooks["cpu-linear-kernel"]["active"], hooks
    assert "qwen3090_ops.cpu_linear" in hooks["cpu-linear-kernel"]["detail"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"zero_points": True}, "zero points"),
        ({"has_g_idx": True}, "activation reordering"),
        ({"act_type": torch.int8}, "activation type"),
        ({"group_size": 100}, "no multiple"),
    ],
)
def test_layers_that_do_not_fit_are_declined_with_the_reason(
    change: dict[str, Any], reason: str
) -> None:
    from qwen3090_ops.cpu_linear import CPUDequantizedLinearKernel
    from vllm.model_executor.kernels.linear import MPLinearLayerConfig
    from vllm.scalar_type import scalar_types

    fits = {
        "full_weight_shape": (256, 64),
        "partition_weight_shape": (256, 64),
        "weight_type": scalar_types.uint8b128,
        "act_type": torch.bfloat16,
        "group_size": 128,
        "zero_points": False,
        "has_g_idx": False,
    }
    implement = CPUDequantizedLinearKernel.can_implement
    assert implement(MPLinearLayerConfig(**fits)) == (True, None)
    answer, why = implement(MPLinearLayerConfig(**(fits | change)))
    assert not answer
    assert reason in str(why)
