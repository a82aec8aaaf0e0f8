# Sets the card's power limit, which only root may: in a service of its own, so that the server
# keeps running without rights.
{
  config,
  lib,
  ...
}:
let
  cfg = config.services.qwen3090;
  hardening = import ./hardening.nix { inherit lib; };
in
{
  options.services.qwen3090.powerLimitWatts = lib.mkOption {
    type = lib.types.nullOr lib.types.ints.positive;
    default = null;
    example = 250;
    description = ''
      Power limit of the card, set before the server starts and kept after it stops. `null` leaves
      it alone. A limit that the card does not support is refused by the driver, which is logged;
      the server starts all the same.
    '';
  };

  config = lib.mkIf (cfg.enable && cfg.powerLimitWatts != null) {
    systemd.services.qwen3090-power-limit = {
      description = "Power limit of the NVIDIA card for qwen3090";
      after = [ "qwen3090-device.service" ];
      wants = [ "qwen3090-device.service" ];
      path = cfg.driverPath;
      script = "exec nvidia-smi -i ${toString cfg.gpu} -pl ${toString cfg.powerLimitWatts}";
      serviceConfig =
        hardening.server { loopback = true; }
        // {
          Type = "oneshot";
          RemainAfterExit = true;
          TimeoutStartSec = 60;
          ProtectHome = true;
          PrivateNetwork = true;
          # Root in its own name only: the driver asks for this capability.
          PrivateUsers = false;
          CapabilityBoundingSet = [ "CAP_SYS_ADMIN" ];
        };
    };
    systemd.services.qwen3090 = {
      wants = [ "qwen3090-power-limit.service" ];
      after = [ "qwen3090-power-limit.service" ];
    };
  };
}
