# A NixOS host that serves Qwen3.8-27B on its RTX 3090.
# Put your own hardware-configuration.nix beside this file, then: nixos-rebuild switch --flake .#host
{
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  # The address of this project, or the path of a checkout. It keeps its own nixpkgs: the one it
  # was tested with, so do not let it follow yours.
  inputs.qwen3090.url = "path:/etc/nixos/qwen3090";

  outputs =
    { nixpkgs, qwen3090, ... }:
    {
      nixosConfigurations.host = nixpkgs.lib.nixosSystem {
        system = "x86_64-linux";
        modules = [
          qwen3090.nixosModules.default
          ./configuration.nix
          ./hardware-configuration.nix
        ];
      };
    };
}
