"""What pins.json leaves out is not needed: everything a profile imports loads without it."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from qwen3090.data import load_json

# Import names of excluded packages, where they differ from the project's name.
IMPORT_NAMES = {
    "cuda-tile": "cuda.tile",
    "fastapi-cloud-cli": "fastapi_cloud_cli",
    "nccl4py": "nccl",
    "nvidia-cudnn-frontend": "cudnn",
    "nvidia-cutlass-dsl": "cutlass",
    "nvidia-cutlass-dsl-libs-cu12": "cutlass",
    "pynvvideocodec": "PyNvVideoCodec",
    "quack-kernels": "quack",
    "tokenspeed-mla": "tokenspeed_mla",
    "tokenspeed-triton": "tokenspeed_triton",
    "torch-c-dlpack-ext": "torch_c_dlpack_ext",
    "z3-solver": "z3",
}
MODULES = """
vllm vllm.entrypoints.cli.main vllm.entrypoints.openai.api_server
vllm.model_executor.models.qwen3_5 vllm.model_executor.models.qwen3_5_mtp
vllm.model_executor.models.qwen3_dflash vllm.model_executor.models.qwen3_dflash2
vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors
vllm.model_executor.layers.mamba.gdn.qwen_gdn_linear_attn
vllm.model_executor.kernels.linear.mixed_precision.marlin
vllm.v1.attention.backends.flash_attn vllm.v1.attention.backends.flashinfer
vllm.v1.attention.backends.triton_attn vllm.v1.attention.backends.gdn_attn
vllm.v1.worker.gpu_model_runner vllm.v1.worker.gpu.model_runner
vllm.v1.worker.gpu.spec_decode.dflash2.speculator vllm.v1.spec_decode.ngram_proposer
vllm.v1.sample.ops.topk_topp_sampler vllm.v1.structured_output.backend_xgrammar
vllm.compilation.backends vllm.tool_parsers
flashinfer flashinfer.sampling flashinfer.topk flashinfer.prefill flashinfer.decode
"""


def test_what_is_excluded_is_not_installed() -> None:
    names = [IMPORT_NAMES.get(name, name) for name in load_json("pins.json")["excluded"]]
    here = [name for name in names if find_spec(name.partition(".")[0]) and find_spec(name)]
    assert here == []


@pytest.mark.engine
def test_everything_a_profile_imports_loads() -> None:
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code, *MODULES.split()],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
