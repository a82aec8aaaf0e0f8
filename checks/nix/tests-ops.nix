# The plugin's tests that start no engine, in the product's environment.
{
  callCheck,
  python-env,
  ops,
  vllm,
}:
callCheck ./run-tests.nix {
  name = "tests-ops";
  wheelGroups = [ "dev" ];
  trees = [
    ops
    vllm
    python-env
  ];
  tests = [ "pkgs/ops/tests" ];
  files = [ "checks/gpu" ]; # what the checks on a GPU measure with is tested too
}
