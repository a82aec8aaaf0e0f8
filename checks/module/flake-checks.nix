# For checks/module.sh: the module's flake checks on the stand-in's packages, with the lib of choice.
{
  lib ? null,
  host ? ../standin/host.json,
}:
let
  set = import ./host.nix { inherit lib host; };
in
import ./default.nix {
  self = null;
  nixpkgs.lib = set.lib;
  inherit (set) pkgs;
  packages.qwen3090-cli = set.package;
}
