# Where state and caches live, and as whom the services run. Below /var/lib that is a user that
# systemd makes up (DynamicUser); anywhere else a fixed one, because only /var/lib is kept in step
# with a made-up user's number.
{ config, lib, ... }:
let
  cfg = config.services.qwen3090;
  inherit (import ./types.nix { inherit lib; }) absolutePath;
  managed = lib.hasPrefix "/var/lib/" cfg.stateDir;
  cache = "/var/cache/qwen3090";
  name = "qwen3090";
in
{
  options.services.qwen3090 = {
    stateDir = lib.mkOption {
      type = absolutePath;
      default = "/var/lib/qwen3090";
      example = "/data/qwen3090";
      description = ''
        Directory for the model: about 20 GB fetched and 3 GB prepared. Outside `/var/lib` the
        services run as the fixed user `qwen3090`, which then owns it; a disk of its own must be
        mounted there, because systemd moves directories within `/var/lib`.
      '';
    };
    directories = lib.mkOption {
      type = lib.types.attrsOf lib.types.anything;
      internal = true;
      readOnly = true;
      description = "Service settings and environment that both services share.";
    };
  };

  config = {
    services.qwen3090.directories = {
      serviceConfig = {
        User = name;
        Group = name;
        DynamicUser = managed;
        CacheDirectory = name;
        CacheDirectoryMode = "0750";
        WorkingDirectory = cache;
      }
      // (
        if managed then
          {
            StateDirectory = lib.removePrefix "/var/lib/" cfg.stateDir;
            StateDirectoryMode = "0750";
          }
        else
          { ReadWritePaths = [ cfg.stateDir ]; }
      );
      # Everything that compiles or downloads keeps its results here, across restarts.
      environment = {
        QWEN3090_STATE = cfg.stateDir;
        HOME = cache;
        XDG_CACHE_HOME = cache;
        XDG_CONFIG_HOME = "${cache}/config";
        HF_HOME = "${cache}/huggingface";
        VLLM_CACHE_ROOT = "${cache}/vllm";
        VLLM_CONFIG_ROOT = "${cache}/vllm-config";
        TRITON_CACHE_DIR = "${cache}/triton";
        TORCHINDUCTOR_CACHE_DIR = "${cache}/inductor";
        FLASHINFER_WORKSPACE_BASE = cache;
        CUDA_CACHE_PATH = "${cache}/cuda";
        NUMBA_CACHE_DIR = "${cache}/numba";
      };
      unitConfig = lib.optionalAttrs (!managed) { RequiresMountsFor = [ cfg.stateDir ]; };
    };

    users = lib.mkIf (cfg.enable && !managed) {
      users.${name} = {
        isSystemUser = true;
        group = name;
        home = cfg.stateDir;
      };
      groups.${name} = { };
    };
    systemd.tmpfiles.settings = lib.mkIf (cfg.enable && !managed) {
      "10-qwen3090".${cfg.stateDir}.d = {
        user = name;
        group = name;
        mode = "0750";
      };
    };
  };
}
