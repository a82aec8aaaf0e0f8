# The engine's environment: libraries, patched vLLM, our packages, compiled kernels. It is built
# only if every extension of vLLM loads, which vLLM itself would merely log.
{
  lib,
  stdenv,
  zlib,
  joinTrees,
  cuda-home,
  python-env,
  vllm,
  ops,
  qwen3090-tree,
  flashinfer-kernels,
}:
joinTrees {
  name = "qwen3090-env";
  trees = [
    vllm
    ops
    qwen3090-tree
    flashinfer-kernels
    python-env
  ];
  postBuild = ''
    export HOME=$TMPDIR
    LD_LIBRARY_PATH=${
      lib.makeLibraryPath [
        stdenv.cc.cc.lib
        zlib
      ]
    }:${cuda-home}/lib64/stubs $out/bin/python ${./import-check.py}
  '';
}
