# nix develop: what a contributor needs beside .venv, which `make setup` makes from the same locks.
{ pkgs, scope }:
pkgs.mkShell {
  packages = [
    scope.python
    pkgs.gcc14
    pkgs.git
    pkgs.ninja
    pkgs.nixfmt
    pkgs.shellcheck
  ];
  # The wheels in .venv look for these by name.
  LD_LIBRARY_PATH = pkgs.lib.makeLibraryPath [
    pkgs.stdenv.cc.cc.lib
    pkgs.zlib
    pkgs.numactl
  ];
  shellHook = "echo 'make setup makes .venv; make help lists the rest'";
}
