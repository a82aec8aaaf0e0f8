# Wires nixpkgs' Open WebUI to the server: its address and, when there is one, its key.
{
  config,
  lib,
  ...
}:
let
  cfg = config.services.qwen3090;
  hardening = import ./hardening.nix { inherit lib; };
  keyed = cfg.apiKeyFile != null;
  file = "/run/qwen3090-open-webui/environment";
  bracketed = host: if lib.hasInfix ":" host && !lib.hasPrefix "[" host then "[${host}]" else host;
  address =
    {
      "0.0.0.0" = "127.0.0.1";
      "::" = "[::1]";
    }
    .${cfg.host} or (bracketed cfg.host);
in
{
  options.services.qwen3090.openWebUI.enable = lib.mkOption {
    type = lib.types.bool;
    default = false;
    description = ''
      Whether to run Open WebUI (`services.open-webui`) as the chat page of this server. Its own
      options, such as its port, stay yours. It stores connections in its data base at its first
      start: later changes of host or port are made in its admin page.
    '';
  };

  config = lib.mkIf (cfg.enable && cfg.openWebUI.enable) {
    services.open-webui = {
      enable = true;
      environment = {
        OPENAI_API_BASE_URL = lib.mkDefault "http://${address}:${toString cfg.port}/v1";
        ENABLE_OLLAMA_API = lib.mkDefault "False";
      };
      environmentFile = lib.mkIf keyed (lib.mkDefault file);
    };

    # The key, in the form that Open WebUI reads: written at run time, for root to read.
    systemd.services.qwen3090-open-webui-key = lib.mkIf keyed {
      description = "API key of qwen3090 for Open WebUI";
      requiredBy = [ "open-webui.service" ];
      before = [ "open-webui.service" ];
      serviceConfig = hardening.observer // {
        Type = "oneshot";
        RemainAfterExit = true;
        ProtectHome = true;
        PrivateDevices = true;
        RuntimeDirectory = "qwen3090-open-webui";
        RuntimeDirectoryMode = "0700";
        LoadCredential = [ "api-key:${cfg.apiKeyFile}" ];
      };
      script = ''
        umask 077
        # The first key: the file may hold more, comments and blank lines.
        key=$(sed -n '/^[[:space:]]*[^#[:space:]]/{s/[[:space:]]//g;p;q;}' "$CREDENTIALS_DIRECTORY/api-key")
        printf 'OPENAI_API_KEY=%s\n' "$key" > ${file}
      '';
    };
  };
}
