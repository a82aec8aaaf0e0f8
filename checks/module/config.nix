# The rendered configurations pass the command line's own check, which runs while a system is built;
# settings that must not build are refused by it, with the words that help.
{
  lib,
  pkgs,
  package,
  evaluate,
  cases,
  ...
}:
let
  file = module: (evaluate module).config.services.qwen3090.configFile;
  good = lib.filterAttrs (name: _: name != "disabled") cases.good;
  refuse = name: case: ''
    if said=$(qwen3090 config check --no-files ${(file case.module).rendered} 2>&1); then
      echo "error: ${name}: was accepted" >&2
      exit 1
    fi
    case $said in
      *${lib.escapeShellArg case.text}*) ;;
      *)
        echo "error: ${name}: does not say ${lib.escapeShellArg case.text}: $said" >&2
        exit 1
        ;;
    esac
    case $said in *"next: "*) ;; *) echo "error: ${name}: no next step: $said" >&2; exit 1 ;; esac
  '';
in
pkgs.runCommand "module-config" { nativeBuildInputs = [ package ]; } ''
  export HOME=$TMPDIR
  ${lib.concatStrings (lib.mapAttrsToList refuse cases.unbuildable)}
  mkdir $out
  ${lib.concatStrings (lib.mapAttrsToList (name: module: "ln -s ${file module} $out/${name}.toml\n") good)}
''
