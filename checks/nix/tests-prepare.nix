# The prepare package's tests, in the product's environment.
{
  callCheck,
  python-env,
}:
callCheck ./run-tests.nix {
  name = "tests-prepare";
  wheelGroups = [ "dev" ];
  trees = [ python-env ];
  tests = [ "prepare/tests" ];
}
