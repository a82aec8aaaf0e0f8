# nixosModules.default: the module, with the flake's own package as the default. The package is
# built from the flake's locked nixpkgs, whatever nixpkgs the host has.
{ self }:
{ lib, pkgs, ... }:
{
  imports = [ ../modules ];
  services.qwen3090.package = lib.mkDefault self.packages.${pkgs.stdenv.hostPlatform.system}.qwen3090;
}
