# The NixOS options that our modules set or read, without their effects. Types are NixOS's, or looser.
{ lib, ... }:
let
  inherit (lib) mkOption types;
  option =
    type: default:
    mkOption {
      inherit type default;
      description = "Stub.";
    };
  names = option (types.listOf types.str) [ ];
  anything = option (types.attrsOf types.anything) { };
  # As NixOS's unitOption: lists of several definitions are joined, all else must agree.
  unitValue = types.oneOf [
    types.bool
    types.int
    types.str
    types.package
    (types.listOf (types.either types.str types.int))
  ];
  service = types.submodule {
    options = {
      description = option types.str "";
      documentation = names;
      wantedBy = names;
      requiredBy = names;
      wants = names;
      requires = names;
      before = names;
      after = names;
      path = option (types.listOf (types.either types.package types.str)) [ ];
      environment = option (types.attrsOf (types.either types.str types.package)) { };
      script = option types.lines "";
      startLimitIntervalSec = option (types.nullOr types.int) null;
      startLimitBurst = option (types.nullOr types.int) null;
      unitConfig = option (types.attrsOf unitValue) { };
      serviceConfig = option (types.attrsOf unitValue) { };
    };
  };
in
{
  options = {
    assertions = option (types.listOf types.anything) [ ];
    environment.systemPackages = option (types.listOf types.package) [ ];
    hardware.graphics.enable = option types.bool false;
    hardware.nvidia.package = mkOption {
      type = types.raw;
      description = "Stub.";
    };
    hardware.nvidia.open = option types.bool false;
    networking.firewall.allowedTCPPorts = option (types.listOf types.port) [ ];
    nixpkgs.config = anything;
    services.xserver.videoDrivers = names;
    services.open-webui = {
      enable = option types.bool false;
      port = option types.port 8080;
      environment = option (types.attrsOf types.str) { };
      environmentFile = option (types.nullOr types.path) null;
    };
    system.stateVersion = option types.str "";
    systemd.services = option (types.attrsOf service) { };
    systemd.tmpfiles.rules = names;
    systemd.tmpfiles.settings = anything;
    users.users = anything;
    users.groups = anything;
  };
}
