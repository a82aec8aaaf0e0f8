# The server's unit, run as systemd would run it but by a small stand-in: the command of the rendered
# unit, with its environment, a notification socket and a stub in place of the engine.
{
  lib,
  pkgs,
  package,
  evaluate,
  ...
}:
let
  host = evaluate (import ../vm/host.nix { inherit pkgs package; });
  nvidia-smi = lib.findFirst (
    tool: tool.meta.mainProgram or "" == "nvidia-smi"
  ) null host.config.environment.systemPackages;
in
pkgs.runCommand "module-service" { } ''
  ${pkgs.python3.interpreter} ${./run_unit.py} \
    ${pkgs.writeText "qwen3090.service" host.units."qwen3090.service"} \
    ${lib.getExe nvidia-smi}
  touch $out
''
