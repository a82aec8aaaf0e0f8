# nix flake check: every file of checks/nix/ is one check; the module's own come from checks/module.
{
  self,
  nixpkgs,
  pkgs,
  packages,
  scope,
}:
let
  inherit (pkgs) lib;
  callCheck = lib.callPackageWith (pkgs // scope // { inherit callCheck; });
  check = file: callCheck file { };
  module = ../checks/module/default.nix;
in
{
  formatting = check ../checks/nix/formatting.nix;
  series = check ../checks/nix/series.nix;
  wheel-tree = check ../checks/nix/wheel-tree.nix;
  wrapper = check ../checks/nix/wrapper.nix;
  cuda-home = check ../checks/nix/cuda-home.nix;
  flashinfer-sampling = check ../checks/nix/flashinfer-sampling.nix;
  vllm = check ../checks/nix/vllm.nix;
  tests-cli = check ../checks/nix/tests-cli.nix;

  # These need the whole environment (8 GB).
  imports = scope.env;
  closure = check ../checks/nix/closure.nix;
  kernels = check ../checks/nix/kernels.nix;
  needed = check ../checks/nix/needed.nix;
  model-prepared = check ../checks/nix/model-prepared.nix;
  tests-prepare = check ../checks/nix/tests-prepare.nix;
  tests-ops = check ../checks/nix/tests-ops.nix;
}
// lib.optionalAttrs (builtins.pathExists module) (
  import module {
    inherit
      self
      nixpkgs
      pkgs
      packages
      ;
  }
)
