# A stand-in for the `nixpkgs` input, for machines without network. It is NOT nixpkgs and no
# substitute for it: derivations run on the host's own tools (compiler, Python, patch), and only
# what this project uses is there. It shows that our expressions evaluate and that our builders do
# what they say; it shows nothing about nixpkgs' own packages. checks/nix.sh uses it.
{
  description = "Stand-in for nixpkgs, for checks without network only";

  outputs =
    { self }:
    let
      system = "x86_64-linux";
      host = builtins.fromJSON (builtins.readFile ./host.json);
      base = import ./lib.nix;
      lib =
        base
        // (if builtins.pathExists ./modules-lib.nix then import ./modules-lib.nix { lib = base; } else { });
    in
    {
      inherit lib;
      legacyPackages.${system} = import ./pkgs { inherit lib system host; };
    };
}
