# The command line's tests that need neither torch nor an engine, in the environment without them.
{
  lib,
  callCheck,
  cliWheels,
}:
callCheck ./run-tests.nix {
  name = "tests-cli";
  wheelGroups = [
    "cli"
    "dev"
  ];
  trees = [ ];
  tests = [
    "cli/tests/config"
    "cli/tests/lock"
    "cli/tests/patches"
    "cli/tests/serve"
    "cli/tests/setup"
  ];
}
