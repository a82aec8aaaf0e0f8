# Every Nix file is as nixfmt writes it.
{
  lib,
  runCommand,
  nixfmt,
}:
let
  root = ../..;
  sources = builtins.path {
    path = root;
    name = "nix-files";
    filter =
      path: type:
      (type == "directory" && !lib.hasPrefix "." (baseNameOf path)) || lib.hasSuffix ".nix" path;
  };
in
runCommand "formatting" { nativeBuildInputs = [ nixfmt ]; } ''
  find ${sources} -name '*.nix' -print0 | xargs -0 nixfmt --check || {
    echo "  next: nix fmt" >&2
    exit 1
  }
  touch $out
''
