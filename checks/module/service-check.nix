# The server's unit, run as systemd would run it but by a small stand-in: the command of the rendered
# unit, with its environment, a notification socket and a stub in place of the engine.
{
  pkgs,
  package,
  evaluate,
  ...
}:
let
  host = evaluate (import ../vm/host.nix { inherit pkgs package; });
in
pkgs.runCommand "module-service" { } ''
  ${pkgs.python3.interpreter} ${./run_unit.py} \
    ${pkgs.writeText "qwen3090.service" host.units."qwen3090.service"} \
    ${pkgs.lib.getExe (builtins.head host.config.environment.systemPackages)}
  touch $out
''
