# Restarts a running server after suspend: the driver has lost UVM by then, and CUDA programs that
# lived through it fail at their next call.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.qwen3090;
  hardening = import ./hardening.nix { inherit lib; };
  # systemd reaches these targets when the machine is awake again.
  targets = [
    "suspend.target"
    "hibernate.target"
    "hybrid-sleep.target"
    "suspend-then-hibernate.target"
  ];
in
{
  config = lib.mkIf (cfg.enable && cfg.restart.afterResume) {
    systemd.services.qwen3090-resume = {
      description = "Restart qwen3090 after suspend";
      wantedBy = targets;
      after = targets;
      serviceConfig = hardening.observer // {
        Type = "oneshot";
        ProtectHome = true;
        # systemd takes orders from root, not from the root of a name space.
        PrivateUsers = false;
        # try-restart: a server that was stopped stays stopped.
        ExecStart = "${pkgs.systemd}/bin/systemctl --no-block try-restart qwen3090.service";
      };
    };
  };
}
