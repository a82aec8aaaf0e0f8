# Waits until the card's device nodes exist, before the server's unit is started: systemd works out
# which devices a unit may open when it starts it, so waiting inside would be too late.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.qwen3090;
  hardening = import ./hardening.nix { inherit lib; };
  wait = pkgs.writeShellApplication {
    name = "qwen3090-wait-for-card";
    runtimeInputs = [ pkgs.coreutils ];
    text = ''
      there() {
        [ -c /dev/dxg ] && return # WSL2
        [ -c /dev/nvidiactl ] && [ -c /dev/nvidia-uvm ] && compgen -G '/dev/nvidia[0-9]*' >/dev/null
      }
      for ((second = 0; second < 120; second++)); do
        there && exit 0
        sleep 1
      done
      echo "error: no NVIDIA device nodes after 120 s (/dev/nvidia0, nvidiactl, nvidia-uvm)" >&2
      echo "  next: nvidia-smi; is \"nvidia\" in services.xserver.videoDrivers?" >&2
      exit 1
    '';
  };
in
{
  config = lib.mkIf (cfg.enable && cfg.effective "device" == "cuda") {
    systemd.services.qwen3090-device = {
      description = "Wait for the NVIDIA card";
      after = [ "systemd-modules-load.service" ];
      serviceConfig = hardening.observer // {
        Type = "oneshot";
        ExecStart = lib.getExe wait;
        TimeoutStartSec = 150;
        DynamicUser = true;
        ProtectHome = true;
      };
    };
    # Not required: when the card stays away, the server itself says so and is tried again.
    systemd.services.qwen3090 = {
      wants = [ "qwen3090-device.service" ];
      after = [ "qwen3090-device.service" ];
    };
  };
}
