# For checks/module.sh: the same evaluation with the stand-in's lib, or with nixpkgs' own when its
# folder is named. Packages are the stand-in's in both cases.
{
  lib ? null,
  host ? ../standin/host.json,
}:
let
  standin = import ../standin/modules-lib.nix { lib = import ../standin/lib.nix; };
  chosen = if lib == null then standin else import lib;
  packageSet = import ../standin/pkgs {
    lib = standin;
    system = "x86_64-linux";
    host = builtins.fromJSON (builtins.readFile host);
  };
  # Types belong to a lib, and this package carries some.
  pkgs = packageSet // {
    formats = import ../standin/pkgs/formats.nix {
      lib = chosen;
      inherit (packageSet) runCommand;
      inherit (packageSet.python3) interpreter;
    };
  };
  package = (import ../../nix/packages.nix { pkgs = packageSet; }).qwen3090-cli;
in
{
  lib = chosen;
  inherit pkgs package;
  results = import ./results.nix {
    lib = chosen;
    inherit pkgs package;
  };
  cases = import ./cases.nix {
    lib = chosen;
    inherit package;
  };
  evaluate = import ./evaluate.nix {
    lib = chosen;
    inherit pkgs package;
  };
}
