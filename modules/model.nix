# Where the model comes from, and the service that fetches, verifies and prepares it before the
# server starts. It goes on where it was interrupted, and does nothing when everything is there.
{
  config,
  lib,
  utils,
  ...
}:
let
  cfg = config.services.qwen3090;
  inherit (lib) mkOption types;
  inherit (import ./types.nix { inherit lib; }) absolutePath;
  hardening = import ./hardening.nix { inherit lib; };
  given = cfg.model.source != "state";
  source = "${cfg.model.source}";
  prepared = "${cfg.stateDir}/prepared/custom";
  exec = arguments: utils.escapeSystemdExecArgs ([ (lib.getExe cfg.package) ] ++ arguments);
  # systemd replaces %d by the directory of the unit's credentials.
  token = lib.optionalString (cfg.huggingfaceTokenFile != null) " --token-file %d/hf-token";
in
{
  options.services.qwen3090 = {
    model = {
      source = mkOption {
        type = types.oneOf [
          (types.enum [ "state" ])
          absolutePath
          types.package
        ];
        default = "state";
        example = lib.literalExpression "inputs.qwen3090.packages.x86_64-linux.model-prepared";
        description = ''
          Where the checkpoint comes from.

          - `"state"`: `qwen3090-model.service` fetches it into `stateDir`, verifies every file and
            prepares it (about 20 GB; the first start waits for it).
          - a store path: the flake's `model-prepared`. A profile with a drafter needs
            `settings.drafter` too: "''${inputs.qwen3090.packages.x86_64-linux.model}/drafter".
            Nothing is fetched when the service starts.
          - a directory of yours: served as it is, or prepared first with `prepare.enable`. All
            users must be able to read its files.
        '';
      };
      directory = mkOption {
        type = types.nullOr types.str;
        internal = true;
        readOnly = true;
        description = "The directory that is served, or null for the state directory's own.";
      };
    };
    prepare.enable = mkOption {
      type = types.bool;
      default = cfg.model.source == "state";
      defaultText = lib.literalExpression ''config.services.qwen3090.model.source == "state"'';
      description = ''
        Whether to prepare the checkpoint: quantize its head, embedding and MTP module. With a
        directory as `model.source` the result goes to `prepared/custom` in `stateDir`.
      '';
    };
    huggingfaceTokenFile = mkOption {
      type = types.nullOr absolutePath;
      default = null;
      example = "/run/secrets/huggingface-token";
      description = "File with an access token of the model hub. The published model needs none.";
    };
  };

  config = {
    services.qwen3090.model.directory =
      if !given then
        null
      else if cfg.prepare.enable then
        prepared
      else
        source;

    systemd.services.qwen3090-model = lib.mkIf (cfg.enable && cfg.prepare.enable) {
      description = "Fetch, verify and prepare Qwen3.8-27B";
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      environment =
        cfg.directories.environment
        // lib.filterAttrs (name: _: !lib.hasPrefix "VLLM_" name) cfg.environment;
      startLimitIntervalSec = 24 * 3600;
      startLimitBurst = 20;
      unitConfig = cfg.directories.unitConfig;
      serviceConfig =
        cfg.directories.serviceConfig
        // hardening.model
        // hardening.home {
          readOnly = lib.optional given source;
          writable = [ cfg.stateDir ];
        }
        // {
          Type = "oneshot";
          RemainAfterExit = true;
          ExecStart =
            lib.optional given (exec [
              "prepare"
              source
              "--out"
              prepared
            ])
            ++ [
              (
                exec [
                  "up"
                  cfg.profile
                  "--config"
                  cfg.configFile
                  "--no-serve"
                  "--yes"
                ]
                + token
              )
            ];
          # Its length is the network's; the download itself gives up when nothing arrives any more.
          TimeoutStartSec = "infinity";
          Restart = "on-failure";
          RestartSec = 30;
          RestartSteps = 5;
          RestartMaxDelaySec = 1800;
          # The server waits meanwhile, instead of failing with the first attempt.
          RestartMode = "direct";
          Nice = 10;
          IOSchedulingClass = "idle";
        }
        // lib.optionalAttrs (cfg.huggingfaceTokenFile != null) {
          LoadCredential = [ "hf-token:${cfg.huggingfaceTokenFile}" ];
        };
    };
  };
}
