# Which outputs the flake has; each is made by the file beside its name.
{ self, nixpkgs }:
let
  system = "x86_64-linux"; # the one platform that has an RTX 3090 and the locked wheels
  pkgs = nixpkgs.legacyPackages.${system};
  scope = import ./scope.nix { inherit pkgs; };
  packages = import ./packages.nix { inherit pkgs; };
  per = value: { ${system} = value; };
in
{
  packages = per packages;
  apps = per (import ./apps.nix { inherit pkgs packages; });
  checks = per (
    import ./checks.nix {
      inherit
        self
        nixpkgs
        pkgs
        packages
        scope
        ;
    }
  );
  devShells = per { default = import ./devshell.nix { inherit pkgs scope; }; };
  formatter = per (import ./formatter.nix { inherit pkgs; });
  overlays.default = import ./overlay.nix;
  nixosModules = rec {
    default = qwen3090;
    qwen3090 = import ./nixos-module.nix { inherit self; };
  };
  templates.default = {
    path = ../templates/host;
    description = "A minimal NixOS host that serves Qwen3.8-27B on its RTX 3090";
  };
}
