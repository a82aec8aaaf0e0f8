# The options a user meets first. Those of one concern only stand in that concern's file.
{ lib, ... }:
let
  inherit (lib) mkOption types;
  inherit (import ./types.nix { inherit lib; }) absolutePath gpuId;
  data = import ./data.nix;
in
{
  options.services.qwen3090 = {
    enable = lib.mkEnableOption "the Qwen3.8-27B server for one RTX 3090";

    package = mkOption {
      type = types.package;
      defaultText = lib.literalExpression "the flake's own package";
      description = "Package with the command `qwen3090` and the engine.";
    };

    profile = mkOption {
      type = types.enum data.profileNames;
      default = "fast";
      description = ''
        Which serving configuration to start from; `settings` overrides single values.

        ${lib.concatMapStringsSep "\n" (
          name: "- `${name}`: ${data.profiles.${name}.summary}"
        ) data.profileNames}
      '';
    };

    host = mkOption {
      type = types.str;
      default = "127.0.0.1";
      example = "0.0.0.0";
      description = "Address to listen on. Anything but loopback needs `apiKeyFile`.";
    };

    port = mkOption {
      type = types.port;
      default = data.settings.port.default;
      description = "TCP port of the API.";
    };

    openFirewall = mkOption {
      type = types.bool;
      default = false;
      description = ''
        Whether to open the port in the firewall. Needs `apiKeyFile` and a `host` that others reach.
      '';
    };

    metrics.openFirewall = mkOption {
      type = types.bool;
      default = false;
      description = ''
        Whether to open the firewall for a Prometheus server. The engine serves `/metrics` on the
        API's own port, so this opens the same port as `openFirewall`, under the same conditions,
        and Prometheus needs a key too (`authorization.credentials_file` of its scrape job).
      '';
    };

    apiKeyFile = mkOption {
      type = types.nullOr absolutePath;
      default = null;
      example = "/run/secrets/qwen3090-key";
      description = ''
        File that holds the API's keys, one a line, each of 16 characters or more; lines that begin
        with `#` are comments. Every route but `/health` and `/ping` asks for one of them; Open WebUI
        gets the first. systemd reads the file as root when the service
        starts and hands it over as a credential, so it may be readable by root alone, and may be
        made by sops-nix or agenix. A file in the Nix store is refused: every user can read those.
      '';
    };

    gpu = mkOption {
      type = types.either types.ints.unsigned gpuId;
      default = 0;
      example = "GPU-5e4f1c1c-1111-2222-3333-444455556666";
      description = "The card: its number in `nvidia-smi -L`, or its UUID.";
    };

    extraArgs = mkOption {
      type = types.listOf types.str;
      default = [ ];
      example = [ "--enable-log-requests" ];
      description = ''
        Further vLLM flags, appended last. Flags that a setting already renders are refused.
      '';
    };

    environment = mkOption {
      type = types.attrsOf types.str;
      default = { };
      example = {
        VLLM_LOGGING_LEVEL = "DEBUG";
        HTTPS_PROXY = "http://proxy.example:3128";
      };
      description = ''
        Further environment variables of the server and of the model download. `VLLM_` variables
        are written into the configuration, because the server passes none on that it inherits.
        Not for secrets: everything here is readable in the Nix store.
      '';
    };

    warmup = mkOption {
      type = types.bool;
      default = data.settings.warmup.default;
      example = true;
      description = data.settings.warmup.description;
    };

    restart = {
      policy = mkOption {
        type = types.enum [
          "on-failure"
          "always"
          "no"
        ];
        default = "on-failure";
        description = ''
          When systemd starts the server again, in growing pauses of 10 to 120 seconds and at most
          ten times an hour. Never after an error that a restart cannot mend: wrong settings, a
          damaged checkpoint, a plan that does not fit, an old driver, a missing patch.
        '';
      };
      afterResume = mkOption {
        type = types.bool;
        default = true;
        description = ''
          Whether to restart a running server after the machine was suspended: the driver then has
          lost the memory mappings (UVM) that CUDA programs need.
        '';
      };
    };
  };
}
