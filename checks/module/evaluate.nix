# Evaluates a host configuration with our module on the stubs, and renders its units as NixOS does.
{ lib, pkgs, package }:
let
  render = import ./units.nix { inherit lib pkgs; };
in
module:
let
  evaluated = lib.evalModules {
    specialArgs = {
      inherit pkgs;
      utils = import ./utils.nix;
    };
    modules = [
      ../../modules
      ./nixos-stubs.nix
      { services.qwen3090.package = lib.mkDefault package; }
      module
    ];
  };
  inherit (evaluated) config;
in
{
  inherit (evaluated) options;
  inherit config;
  failed = map (a: a.message) (builtins.filter (a: !a.assertion) config.assertions);
  units = lib.mapAttrs' (name: unit: {
    name = "${name}.service";
    value = render unit;
  }) (lib.filterAttrs (name: _: name != "open-webui") config.systemd.services);
}
