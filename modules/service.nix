# The server's unit: `qwen3090 serve` with the checked configuration, ready when a token was
# generated, restarted when the engine hangs or dies.
{
  config,
  lib,
  utils,
  ...
}:
let
  cfg = config.services.qwen3090;
  data = import ./data.nix;
  network = import ./network.nix;
  hardening = import ./hardening.nix { inherit lib; };
  loopback = network.isLoopback cfg.host;
  # Directories that are read; those in the store or below /var are visible anyway.
  reads = map toString (
    lib.filter (path: path != null) [
      cfg.model.directory
      cfg.settings.drafter
    ]
  );
in
{
  options.services.qwen3090.driverPath = lib.mkOption {
    type = lib.types.listOf (lib.types.either lib.types.package lib.types.str);
    internal = true;
    readOnly = true;
    description = "Where nvidia-smi is: the system's own, which fits the running driver.";
  };

  config = {
    services.qwen3090.driverPath = [ "/run/current-system/sw" ];

    systemd.services.qwen3090 = lib.mkIf cfg.enable {
      description = "Qwen3.8-27B, OpenAI-compatible API";
      documentation = [ "file://${cfg.configFile}" ];
      wantedBy = [ "multi-user.target" ];
      after = [
        "network.target"
        "nvidia-persistenced.service"
      ]
      ++ lib.optional cfg.prepare.enable "qwen3090-model.service";
      requires = lib.optional cfg.prepare.enable "qwen3090-model.service";
      path = cfg.driverPath;
      environment =
        cfg.directories.environment
        // {
          CUDA_DEVICE_ORDER = "PCI_BUS_ID"; # numbers as nvidia-smi counts them
          CUDA_VISIBLE_DEVICES = toString cfg.gpu;
        }
        // lib.filterAttrs (name: _: !lib.hasPrefix "VLLM_" name) cfg.environment;
      # With the pauses below: ten attempts take about a quarter of an hour, so a card that is busy
      # for a while is waited for. A start that fails again and again ends there; the next one says
      # so (last-failure.json in stateDir).
      startLimitIntervalSec = 3600;
      startLimitBurst = 10;
      unitConfig = cfg.directories.unitConfig;
      serviceConfig =
        cfg.directories.serviceConfig
        // hardening.server { inherit loopback; }
        // hardening.home {
          readOnly = reads;
          writable = [ cfg.stateDir ];
        }
        // {
          Type = "notify";
          NotifyAccess = "main";
          ExecStart = utils.escapeSystemdExecArgs [
            (lib.getExe cfg.package)
            "serve"
            "--config"
            cfg.configFile
          ];
          # The server gives up by itself and says why: after ready_timeout, and up to two minutes
          # of waiting for the card before it. This is the backstop.
          TimeoutStartSec = cfg.effective "ready_timeout" + 300;
          TimeoutStopSec = cfg.effective "shutdown_timeout" + cfg.effective "kill_timeout" + 15;
          # Progress of the engine, one file each of its processes writes.
          RuntimeDirectory = "qwen3090";
          RuntimeDirectoryMode = "0700";
          # Fed while steps end, or while an idle engine answers. A stalled engine is ended by the
          # supervisor itself, which says why (stall_timeout); this is for one that hangs, and for
          # an API that no longer answers.
          WatchdogSec = 120;
          # The supervisor stops the engine in order; what is left then is killed.
          KillMode = "mixed";
          Restart = cfg.restart.policy;
          RestartSec = 10;
          RestartSteps = 5;
          RestartMaxDelaySec = 120;
          RestartPreventExitStatus = [ 2 ] ++ data.permanentExitStatuses;
          OOMPolicy = "stop";
        }
        // lib.optionalAttrs (cfg.apiKeyFile != null) {
          LoadCredential = [ "api-key:${cfg.apiKeyFile}" ];
        };
    };

    environment.systemPackages = lib.mkIf cfg.enable [ cfg.package ];
  };
}
