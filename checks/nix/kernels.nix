# FlashInfer finds the compiled kernels in the product's environment and loads them: nothing is left
# for the first boot to compile. No GPU: the driver is cuda-home's stub.
{
  lib,
  runCommand,
  stdenv,
  zlib,
  cuda-home,
  env,
}:
runCommand "kernels" { } ''
  export HOME=$TMPDIR FLASHINFER_DISABLE_JIT=1 FLASHINFER_DISABLE_VERSION_CHECK=1
  export FLASHINFER_CUDA_ARCH_LIST=8.6 PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=${
    lib.makeLibraryPath [
      stdenv.cc.cc.lib
      zlib
    ]
  }:${cuda-home}/lib64/stubs
  cp ${../../pkgs/flashinfer-kernels/build.py} build.py
  ${env}/bin/python - <<'PYTHON'
  import sys
  sys.path.insert(0, ".")
  import build
  for spec in build.modules():
      assert spec.is_aot, f"{spec.name} is not in {spec.aot_path}"
      assert spec.try_load() is not None, f"{spec.name} does not load"
      print(spec.name)
  PYTHON
  touch $out
''
