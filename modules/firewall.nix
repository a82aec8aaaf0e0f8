# Opens the API's port when asked to. assertions.nix refuses that without a key.
{ config, lib, ... }:
let
  cfg = config.services.qwen3090;
in
{
  config.networking.firewall.allowedTCPPorts = lib.mkIf (
    cfg.enable && (cfg.openFirewall || cfg.metrics.openFirewall)
  ) [ cfg.port ];
}
