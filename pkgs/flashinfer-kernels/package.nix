# FlashInfer's kernels that the profiles use, compiled for sm_86 here, so that the first boot builds
# no CUDA C++. FlashInfer looks for a package flashinfer_jit_cache before it compiles.
{
  stdenvNoCC,
  ninja,
  python,
  cuda-home,
  python-env,
  zlib,
  stdenv,
  lib,
}:
stdenvNoCC.mkDerivation {
  name = "qwen3090-flashinfer-kernels";
  nativeBuildInputs = [
    ninja
    cuda-home.cc
  ];
  dontUnpack = true;
  dontStrip = true;
  dontPatchELF = true;
  installPhase = ''
    export HOME=$TMPDIR FLASHINFER_WORKSPACE_BASE=$TMPDIR FLASHINFER_CUDA_ARCH_LIST=8.6
    export CUDA_HOME=${cuda-home} CC=${cuda-home.cc}/bin/gcc CXX=${cuda-home.cc}/bin/g++
    export FLASHINFER_DISABLE_VERSION_CHECK=1 MAX_JOBS=$NIX_BUILD_CORES
    # No rpath to the driver's stub: the process has the driver's own library loaded.
    export NIX_DONT_SET_RPATH=1
    export LD_LIBRARY_PATH=${
      lib.makeLibraryPath [
        stdenv.cc.cc.lib
        zlib
      ]
    }
    ${python-env}/bin/python ${./build.py} $out/${python.sitePackages}
  '';
}
