# What can be said about the VM test without NixOS: its machines evaluate on the stubs without a
# failed assertion, and its script is Python that uses no name it does not have. Nothing is booted.
{
  pkgs,
  package,
  lib,
  test,
}:
let
  evaluate = import ../module/evaluate.nix { inherit lib pkgs package; };
  failed = lib.concatLists (
    lib.mapAttrsToList (name: node: map (message: "${name}: ${message}") (evaluate node).failed) test.nodes
  );
in
assert lib.assertMsg (failed == [ ]) "the VM test's machines: ${lib.concatStringsSep "\n" failed}";
pkgs.runCommand "${test.name}-evaluated-only" { } ''
  ${pkgs.python3.interpreter} ${./check_script.py} ${pkgs.writeText "script.py" test.testScript} \
    ${lib.escapeShellArgs (lib.attrNames test.nodes)}
  touch $out
''
