# The command line's tests that need neither torch nor an engine, in the environment without them
# (set-up's tests are of the way without Nix).
{
  callCheck,
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
    "cli/tests/plan"
    "cli/tests/serve"
  ];
  files = [
    "cli/tests/golden"
    "docs/reference"
    "nix"
  ];
  checkoutTests = [
    "cli/tests/config/test_sources.py::test_every_variable_the_project_reads_is_known"
    "cli/tests/lock/test_checks.py::test_command_says_stale"
    "cli/tests/lock/test_checks.py::test_the_projects_own_lock"
  ];
}
