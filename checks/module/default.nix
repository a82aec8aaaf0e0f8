# The module's checks, for nix flake check. The command line in them is the real one, without the
# engine: it checks settings and supervises a stub.
{
  self,
  nixpkgs,
  pkgs,
  packages,
}:
let
  inherit (nixpkgs) lib;
  package = packages.qwen3090-cli;
  results = import ./results.nix { inherit lib pkgs package; };
  evaluate = import ./evaluate.nix { inherit lib pkgs package; };
  cases = import ./cases.nix { inherit lib package; };
  call = file: import file { inherit lib pkgs package evaluate cases results; };
in
{
  module-evaluation =
    assert lib.assertMsg (
      results.problems == [ ]
    ) "the module does not evaluate as it must:\n- ${lib.concatStringsSep "\n- " results.problems}";
    pkgs.writeText "module-evaluation" (builtins.toJSON results.messages);

  module-options = pkgs.runCommand "module-options" { } ''
    diff -u ${../../docs/reference/nixos-options.md} ${pkgs.writeText "nixos-options.md" results.options} || {
      echo "error: docs/reference/nixos-options.md is stale" >&2
      echo "  next: bash checks/module.sh --write" >&2
      exit 1
    }
    touch $out
  '';

  module-config = call ./config.nix;
  module-units = call ./units-check.nix;
  module-service = call ./service-check.nix;
}
# A virtual machine that boots NixOS with the service. It needs nixpkgs' own test framework.
// import ../vm { inherit self pkgs package lib; }
