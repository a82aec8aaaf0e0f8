"""Checks and times Marlin's 4-bit linear with int8 activations on a GPU, at the model's MLP sizes.

usage: marlin_int8.py [--quick]     (a patched vLLM and qwen3090_ops on the path)

Weights have group scales of both signs, as the published checkpoint's do. Errors are relative to
the norm of a float32 product with the dequantized weight: "rounded" takes the activations as int8
would have them, so what is left is Marlin's own. "as loaded" is vLLM without patch 0231. Times are
those of a CUDA graph over three weights in turn, which no cache holds. Exit status 1: an error
with the patch above its bound, or vLLM repacks with the signs unchanged.
"""

import argparse
import os
import sys
from typing import Any

os.environ.pop("VLLM_MARLIN_INPUT_DTYPE", None)
import torch
import vllm.model_executor.parameter as parameter
from qwen3090_ops.marlin import signs
from qwen3090_ops.packed import dequantize
from vllm.model_executor.kernels.linear import MarlinLinearKernel, MPLinearLayerConfig
from vllm.model_executor.layers.quantization.utils.int8_utils import per_token_quant_int8
from vllm.scalar_type import scalar_types

SHAPES = {"gate or up": (5120, 17408), "gate and up": (5120, 34816), "down": (17408, 5120)}
ROWS = (1, 8, 64, 512, 2048)
GROUP = 128
BOUND = {"rounded": 0.02, "exact": 0.03}  # code 0 of negative groups moves; int8 rounds inputs
DTYPE = torch.bfloat16


def weight(size_k: int, size_n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return int32 [out, in / 8] and scales [out, in / 128] of both signs: normal weights."""
    generator = torch.Generator("cuda").manual_seed(seed)
    dense = torch.randn(size_n, size_k // GROUP, GROUP, device="cuda", generator=generator)
    sign = torch.randint(0, 2, (size_n, size_k // GROUP), device="cuda", generator=generator)
    scale = dense.abs().amax(-1) / 7.5 * size_k**-0.5 * (2 * sign - 1)
    scale = scale.to(DTYPE)
    codes = (dense * size_k**-0.5 / scale.float()[..., None]).round_().clamp_(-8, 7).int() + 8
    codes = codes.view(size_n, -1, 8)
    packed = torch.zeros(codes.shape[:2], dtype=torch.int32, device="cuda")
    for lane in range(8):
        packed |= codes[..., lane] << (4 * lane)
    return packed, scale


def linear(packed: torch.Tensor, scale: torch.Tensor, act: torch.dtype) -> tuple[Any, Any]:
    """Return vLLM's kernel and a layer that holds the repacked weight."""
    size_n, size_k = packed.shape[0], packed.shape[1] * 8
    layer = torch.nn.Module()
    common: dict[str, Any] = {"input_dim": 1, "output_dim": 0, "weight_loader": lambda *_: None}
    q = parameter.PackedvLLMParameter(data=packed.clone(), packed_dim=1, packed_factor=8, **common)
    layer.register_parameter("q", q)
    layer.register_parameter("s", parameter.GroupQuantScaleParameter(data=scale.clone(), **common))
    config = MPLinearLayerConfig(
        full_weight_shape=(size_k, size_n),
        partition_weight_shape=(size_k, size_n),
        weight_type=scalar_types.uint4b8,
        act_type=act,
        group_size=GROUP,
        zero_points=False,
        has_g_idx=False,
    )
    kernel = MarlinLinearKernel(config, "q", "s")
    kernel.process_weights_after_loading(layer)
    return kernel, layer


def relative(found: torch.Tensor, reference: torch.Tensor) -> float:
    return float((found.float() - reference).norm() / reference.norm())


def check(name: str, size_k: int, size_n: int) -> bool:
    packed, scale = weight(size_k, size_n, 1)
    dense = dequantize(packed, scale, 4, torch.float32).T
    generator = torch.Generator("cuda").manual_seed(2)
    x = torch.randn(64, size_k, device="cuda", generator=generator).to(DTYPE)
    codes, steps = per_token_quant_int8(x)
    exact, rounded = x.float() @ dense, (codes.float() * steps.float()) @ dense
    plain = MarlinLinearKernel.apply_weights(*linear(packed, scale, DTYPE), x)
    patched = MarlinLinearKernel.apply_weights(*linear(packed, scale, torch.int8), x)
    ours = signs.make_scales_positive
    signs.make_scales_positive = lambda *_, **__: None
    try:
        stock = MarlinLinearKernel.apply_weights(*linear(packed, scale, torch.int8), x)
    finally:
        signs.make_scales_positive = ours
    errors = {"rounded": relative(patched, rounded), "exact": relative(patched, exact)}
    print(
        f"INT8 {name} {size_k} x {size_n}: {float((scale < 0).float().mean()):.0%} of the scales "
        f"negative; error bf16 {relative(plain, exact):.5f}, int8 activations "
        f"{errors['exact']:.5f} ({errors['rounded']:.5f} against rounded inputs), rounding alone "
        f"{relative(rounded, exact):.5f}, as loaded {relative(stock, exact):.3f}",
        flush=True,
    )
    return all(errors[key] < BOUND[key] for key in BOUND) and relative(stock, exact) > 0.5


def timed(layers: list[tuple[Any, Any]], x: torch.Tensor, calls: int) -> float:
    """Return microseconds a call, from a graph of ``calls`` calls on the layers in turn."""

    def run() -> None:
        for call in range(calls):
            kernel, layer = layers[call % len(layers)]
            kernel.apply_weights(layer, x)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(7):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000 / calls)
    return sorted(times)[len(times) // 2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no times")
    quick = parser.parse_args().quick
    parameter.get_tensor_model_parallel_rank = lambda: 0
    parameter.get_tensor_model_parallel_world_size = lambda: 1
    torch.cuda.init()
    print(f"INT8 on {torch.cuda.get_device_name()}", flush=True)
    right = {name: check(name, *shape) for name, shape in SHAPES.items()}
    for name, (size_k, size_n) in {} if quick else SHAPES.items():
        weights = [weight(size_k, size_n, seed) for seed in range(3)]
        by_type = {act: [linear(*each, act) for each in weights] for act in (DTYPE, torch.int8)}
        for rows in ROWS:
            x = torch.randn(rows, size_k, device="cuda").to(DTYPE)
            plain, int8 = (timed(layers, x, 12) for layers in by_type.values())
            print(
                f"INT8 time {name} {size_k} x {size_n}, {rows:4} rows: bf16 {plain:8.1f} us, "
                f"int8 {int8:8.1f} us, {plain / int8:.2f} x",
                flush=True,
            )
    wrong = [name for name, fine in right.items() if not fine]
    print("INT8", f"WRONG: {', '.join(wrong)}" if wrong else "right", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
