# The locked wheels of the engine and the command line in one tree: everything but vLLM itself,
# which is patched and so has an output of its own, and the CUDA toolchain, which is linked in from
# cuda-home so that the closure holds one CUDA.
{
  lib,
  wheels,
  wheelTree,
  cuda-home,
}:
let
  all = wheels [
    "engine"
    "cli"
    "prepare"
  ];
in
wheelTree {
  name = "qwen3090-python-env";
  wheels = removeAttrs all (lib.attrNames cuda-home.wheels);
  links = [ cuda-home.toolchain ];
}
