# The package set: builders of our own, and the host's programs under nixpkgs' names.
{
  lib,
  system,
  host,
}:
let
  hostTool = name: {
    pname = name;
    inherit name system;
    outPath = "/usr";
    version = "of-the-host";
    meta.mainProgram = name;
  };
  stdenv = import ./stdenv.nix { inherit lib system hostTool; };
  builders = import ./builders.nix {
    inherit lib system;
    stdenvNoCC = stdenv;
    shellcheck = hostTool "shellcheck";
  };
  python = hostTool "python3" // {
    version = host.python;
    pythonVersion = host.python;
    sitePackages = "lib/python${host.python}/site-packages";
    interpreter = "/usr/bin/python${host.python}";
    pkgs.pip = hostTool "pip";
  };
  tools = lib.genAttrs [
    "bash"
    "binutils"
    "cacert"
    "coreutils"
    "curl"
    "deadnix"
    "findutils"
    "gawk"
    "gcc14"
    "git"
    "gnugrep"
    "gnused"
    "ninja"
    "nix"
    "numactl"
    "patch"
    "patchelf"
    "ruff"
    "shellcheck"
    "systemd"
    "unzip"
    "util-linux"
    "zlib"
  ] hostTool;
  # nixfmt cannot be had here; this looks for what it never leaves: tabs, blanks at a line's end.
  nixfmt = builtins.removeAttrs (builders.writeShellScriptBin "nixfmt" ''
    [ "$1" = --check ] || { echo "the stand-in's nixfmt only checks" >&2; exit 2; }
    shift
    if grep -nP '\t|[ \t]$' "$@"; then echo "these lines are not as nixfmt leaves them" >&2; exit 1; fi
  '') [ "pname" ];
  pkgs =
    builders
    // tools
    // (import ./fetch.nix { inherit lib system host; })
    // {
      inherit lib stdenv nixfmt;
      stdenvNoCC = stdenv;
      nixfmt-tree = nixfmt;
      formats = import ./formats.nix {
        inherit lib;
        inherit (builders) runCommand;
        inherit (python) interpreter;
      };
      python311 = python;
      python312 = python;
      python313 = python;
      python3 = python;
      callPackage = lib.callPackageWith pkgs;
      config = { };
      isStandIn = true;
    };
in
pkgs
