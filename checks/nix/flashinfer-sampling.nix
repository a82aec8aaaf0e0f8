# FlashInfer's own sampling source compiles for sm_86 with cuda-home: what a missing curand header or
# a second CUDA breaks. The flags are those of flashinfer.jit, without Python or torch.
{
  runCommand,
  python,
  wheels,
  wheelTree,
  cuda-home,
  lib,
}:
let
  tree = wheelTree {
    name = "flashinfer-sources";
    wheels = lib.getAttrs [
      "flashinfer-python"
      "apache-tvm-ffi"
    ] (wheels [ "engine" ]);
  };
  site = "${tree}/${python.sitePackages}";
  data = "${site}/flashinfer/data";
in
runCommand "flashinfer-sampling" { } ''
  export HOME=$TMPDIR
  compile() {
    ${cuda-home}/bin/nvcc -c ${data}/csrc/$1.cu -o $1.o -std=c++17 -O3 -DNDEBUG --threads=1 \
      -gencode=arch=compute_86,code=sm_86 -static-global-template-stub=false \
      --compiler-options=-fPIC --expt-relaxed-constexpr \
      -DPy_LIMITED_API=0x03090000 -D_GLIBCXX_USE_CXX11_ABI=1 \
      -DFLASHINFER_ENABLE_FP8_E8M0 -DFLASHINFER_ENABLE_FP4_E2M1 \
      -DFLASHINFER_ENABLE_F16 -DFLASHINFER_ENABLE_BF16 \
      -I${data}/cccl/cub -I${data}/cccl/libcudacxx/include -I${data}/cccl/thrust \
      -isystem ${site}/tvm_ffi/include -isystem ${data}/include -isystem ${data}/csrc \
      -isystem ${data}/cutlass/include -isystem ${data}/spdlog/include
  }
  compile sampling &
  first=$!
  compile flashinfer_sampling_binding
  wait $first
  ${cuda-home.cc}/bin/g++ -shared *.o -L${cuda-home}/lib64 -L${cuda-home}/lib64/stubs -lcudart -lcuda \
    -o sampling.so
  mkdir $out
  cp sampling.so $out/
''
