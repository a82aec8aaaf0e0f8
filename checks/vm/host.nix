# The host of the service tests: the real module and command line, a stub in place of the engine,
# a card that exists by name only.
{
  pkgs,
  package,
  apiKeyFile ? null,
}:
let
  python = pkgs.python3.interpreter;
in
{
  hardware.graphics.enable = true;
  services.qwen3090 = {
    enable = true;
    inherit package apiKeyFile;
    profile = "fast-mtp";
    model.source = pkgs.runCommand "stub-checkpoint" { } "${python} ${./make_checkpoint.py} $out";
    settings = {
      kv_bytes = "none"; # the stub has no pool to plan
      health_interval = 1;
      shutdown_timeout = 2;
      kill_timeout = 2;
      engine.command = [
        python
        "${./stub_engine.py}"
      ];
    };
  };
  # Where the service looks for nvidia-smi.
  environment.systemPackages = [
    (pkgs.writeShellScriptBin "nvidia-smi" (builtins.readFile ./nvidia-smi.sh))
  ];
}
