# What can be known to be wrong before anything is built, each with its cure. Combinations of
# settings are not here: `qwen3090 config check` judges those, by the code that runs at the start.
{ config, lib, ... }:
let
  cfg = config.services.qwen3090;
  data = import ./data.nix;
  network = import ./network.nix;
  option = name: "services.qwen3090.${name}";
  loopback = network.isLoopback cfg.host;
  given = cfg.model.source != "state";
  opens = lib.filter (o: o.on) [
    {
      name = "openFirewall";
      on = cfg.openFirewall;
    }
    {
      name = "metrics.openFirewall";
      on = cfg.metrics.openFirewall;
    }
  ];
  inStore = path: path != null && lib.hasPrefix "${builtins.storeDir}/" path;
  onCard = cfg.effective "device" == "cuda";
  nvidia = onCard && lib.elem "nvidia" config.services.xserver.videoDrivers;
  # Not every configuration has a driver package that can be evaluated (WSL2 has none).
  driver = builtins.tryEval (if nvidia then config.hardware.nvidia.package.version else "");
  # Variables that hold secrets, and the option that takes a file instead.
  secrets = {
    VLLM_API_KEY = "apiKeyFile";
    OPENAI_API_KEY = "apiKeyFile";
    HF_TOKEN = "huggingfaceTokenFile";
    HUGGING_FACE_HUB_TOKEN = "huggingfaceTokenFile";
  };
  leaked = lib.filter (name: secrets ? ${name}) (lib.attrNames cfg.environment);
  ours = lib.filter (lib.hasPrefix "QWEN3090_") (lib.attrNames cfg.environment);
  elsewhere = {
    host = "host";
    port = "port";
    profile = "profile";
    api_key_file = "apiKeyFile";
    model = "model.source";
    warmup = "warmup";
  };
  misplaced = lib.filter (key: cfg.settings ? ${key}) (lib.attrNames elsewhere);
in
{
  config.assertions = lib.mkIf cfg.enable (
    [
      {
        assertion = loopback || cfg.apiKeyFile != null;
        message = ''
          ${option "host"} = "${cfg.host}" can be reached from other machines, and there is no key.
          Set ${option "apiKeyFile"} = "/run/secrets/qwen3090-key", or leave host at "127.0.0.1".'';
      }
      {
        assertion = !inStore cfg.apiKeyFile;
        message = ''
          ${option "apiKeyFile"} = "${toString cfg.apiKeyFile}" lies in the Nix store, which every user can read.
          Put the key into a file outside, for example with sops-nix or agenix, and name that as text.'';
      }
      {
        assertion = !inStore cfg.huggingfaceTokenFile;
        message = ''
          ${option "huggingfaceTokenFile"} = "${toString cfg.huggingfaceTokenFile}" lies in the Nix store, which every user can read.
          Put the token into a file outside, for example with sops-nix or agenix, and name that as text.'';
      }
      {
        assertion = !onCard || config.hardware.graphics.enable;
        message = ''
          ${option "enable"}: hardware.graphics.enable is false, so there is no driver library for CUDA.
          Set hardware.graphics.enable = true and services.xserver.videoDrivers = [ "nvidia" ].'';
      }
      {
        assertion =
          !driver.success || driver.value == "" || lib.versionAtLeast driver.value data.leastDriver;
        message = ''
          ${option "enable"}: the NVIDIA driver is ${toString driver.value}, and CUDA 13 needs ${data.leastDriver} or newer.
          Set hardware.nvidia.package = config.boot.kernelPackages.nvidiaPackages.production (or latest).'';
      }
      {
        assertion = given || cfg.prepare.enable;
        message = ''
          ${option "prepare.enable"} = false with model.source = "state" leaves nothing to serve.
          Leave it on, or name a prepared checkpoint: ${option "model.source"} = "/path/to/checkpoint".'';
      }
      {
        assertion =
          !given
          || cfg.prepare.enable
          || cfg.effective "speculation" != "dflash2"
          || cfg.settings.drafter != null;
        message = ''
          ${option "model.source"} names a checkpoint, and profile "${cfg.profile}" needs a drafter as well.
          Set ${option "settings.drafter"} = "/path/to/drafter", or settings.speculation = "mtp".'';
      }
      {
        assertion = cfg.huggingfaceTokenFile == null || cfg.prepare.enable;
        message = ''
          ${option "huggingfaceTokenFile"} is set, but with prepare.enable = false nothing is fetched.
          Remove it, or set ${option "prepare.enable"} = true.'';
      }
      {
        assertion = !cfg.openWebUI.enable || config.services.open-webui.port != cfg.port;
        message = ''
          services.open-webui.port and ${option "port"} are both ${toString cfg.port}.
          Change one of them.'';
      }
    ]
    ++ map (o: {
      assertion = cfg.apiKeyFile != null && !loopback;
      message =
        if loopback then
          ''
            ${option o.name} = true, but host = "${cfg.host}" is reached from this machine only.
            Set ${option "host"} = "0.0.0.0" and ${option "apiKeyFile"}, or leave the firewall closed.''
        else
          ''
            ${option o.name} = true would show the API to the network, and there is no key.
            Set ${option "apiKeyFile"} = "/run/secrets/qwen3090-key".'';
    }) opens
    ++ map (name: {
      assertion = false;
      message = ''
        ${option "environment"}.${name} would put a secret into the Nix store, which every user can read.
        Use ${option secrets.${name}}.'';
    }) leaked
    ++ map (name: {
      assertion = false;
      message = ''
        ${option "environment"}.${name}: the service takes its settings from its file.
        Use ${option "settings"} or the option of that name.'';
    }) ours
    ++ map (key: {
      assertion = false;
      message = ''
        ${option "settings"}.${key} has an option of its own.
        Use ${option elsewhere.${key}}.'';
    }) misplaced
  );
}
