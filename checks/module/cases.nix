# Host configurations: what must evaluate, what must be refused and with which words.
{ lib, package }:
let
  data = import ../../modules/data.nix;
  host = qwen3090: {
    hardware.graphics.enable = true;
    services.xserver.videoDrivers = [ "nvidia" ];
    hardware.nvidia.package.version = "580.95.05";
    services.qwen3090 = {
      enable = true;
    }
    // qwen3090;
  };
  key = "/run/secrets/qwen3090-key";
  refused = text: qwen3090: {
    inherit text;
    module = host qwen3090;
  };
in
{
  # Each evaluates, with no failed assertion.
  good =
    lib.genAttrs data.profileNames (profile: host { inherit profile; })
    // {
      disabled = { };
      template = {
        imports = [ ../../templates/host/configuration.nix ];
        hardware.nvidia.package.version = "595.10";
      };
      no-driver-package = {
        hardware.graphics.enable = true;
        services.qwen3090.enable = true;
      };
      network = host {
        host = "0.0.0.0";
        openFirewall = true;
        apiKeyFile = key;
      };
      store-model = host {
        model.source = package;
        settings.drafter = package;
      };
      own-directory = host {
        profile = "long-mtp";
        model.source = "/home/me/checkpoint";
      };
      own-directory-prepared = host {
        model.source = "/data/published";
        prepare.enable = true;
        huggingfaceTokenFile = "/run/secrets/token";
      };
      other-state = host { stateDir = "/data/qwen3090"; };
      home-state = host { stateDir = "/home/me/qwen3090"; };
      everything = host {
        profile = "long";
        host = "192.168.1.2";
        port = 8000;
        apiKeyFile = key;
        metrics.openFirewall = true;
        gpu = "GPU-5e4f1c1c-1111-2222-3333-444455556666";
        powerLimitWatts = 250;
        extraArgs = [ "--enable-log-requests" ];
        environment = {
          VLLM_LOGGING_LEVEL = "DEBUG";
          HTTPS_PROXY = "http://proxy:3128";
        };
        settings = {
          context = 100000;
          kv_bytes = "5.2GiB";
          gpu_memory_utilization = 0.95;
          engine.env.NCCL_DEBUG = "WARN";
        };
        warmup = true;
        restart.policy = "always";
        restart.afterResume = false;
        openWebUI.enable = true;
      };
    };

  # Each fails an assertion whose text has these words.
  refused = {
    network-without-key = refused "can be reached from other machines, and there is no key" {
      host = "0.0.0.0";
    };
    name-without-key = refused "can be reached from other machines" { host = "example.org"; };
    almost-loopback = refused "can be reached from other machines" { host = "127.0.0.1.example.org"; };
    firewall-on-loopback = refused "is reached from this machine only" {
      openFirewall = true;
      apiKeyFile = key;
    };
    firewall-without-key = refused "would show the API to the network, and there is no key" {
      host = "0.0.0.0";
      openFirewall = true;
    };
    metrics-without-key = refused "metrics.openFirewall = true would show the API" {
      host = "0.0.0.0";
      metrics.openFirewall = true;
    };
    key-in-store = refused "lies in the Nix store, which every user can read" {
      apiKeyFile = "${builtins.storeDir}/00000000000000000000000000000000-key";
    };
    token-in-store = refused "huggingfaceTokenFile" {
      huggingfaceTokenFile = "${builtins.storeDir}/00000000000000000000000000000000-token";
    };
    key-in-environment = refused "environment.VLLM_API_KEY would put a secret into the Nix store" {
      environment.VLLM_API_KEY = "s3cret";
    };
    token-in-environment = refused "huggingfaceTokenFile" { environment.HF_TOKEN = "s3cret"; };
    setting-as-variable = refused "takes its settings from its file" {
      environment.QWEN3090_SEATS = "4";
    };
    warmup-as-setting = refused "settings.warmup has an option of its own" { settings.warmup = true; };
    port-as-setting = refused "settings.port has an option of its own" { settings.port = 8000; };
    nothing-to-serve = refused "leaves nothing to serve" { prepare.enable = false; };
    no-drafter = refused "needs a drafter as well" { model.source = "/data/checkpoint"; };
    token-for-nothing = refused "nothing is fetched" {
      profile = "fast-mtp";
      model.source = "/data/checkpoint";
      huggingfaceTokenFile = "/run/secrets/token";
    };
    same-port = refused "Change one of them" {
      port = 8080;
      openWebUI.enable = true;
    };
    no-graphics = {
      text = "hardware.graphics.enable is false";
      module.services.qwen3090.enable = true;
    };
    old-driver = {
      text = "the NVIDIA driver is 570.153.02, and CUDA 13 needs 580 or newer";
      module = {
        hardware.graphics.enable = true;
        services.xserver.videoDrivers = [ "nvidia" ];
        hardware.nvidia.package.version = "570.153.02";
        services.qwen3090.enable = true;
      };
    };
  };

  # Each is refused by an option's type; `at` is the option that the message names.
  mistyped = {
    unknown-profile = refused "services.qwen3090.profile" { profile = "fastest"; };
    cpu-profile = refused "services.qwen3090.profile" { profile = "demo"; };
    unknown-option = refused "services.qwen3090.prot' does not exist" { prot = 8000; };
    port-too-large = refused "services.qwen3090.port" { port = 70000; };
    key-as-path-literal = refused "services.qwen3090.apiKeyFile" { apiKeyFile = ./cases.nix; };
    key-relative = refused "services.qwen3090.apiKeyFile" { apiKeyFile = "secrets/key"; };
    key-with-space = refused "services.qwen3090.apiKeyFile" { apiKeyFile = "/run/my key"; };
    gpu-name = refused "services.qwen3090.gpu" { gpu = "RTX 3090"; };
    format = refused "services.qwen3090.settings.kv_format" { settings.kv_format = "fp4"; };
    seats-none = refused "services.qwen3090.settings.seats" { settings.seats = 0; };
    state-relative = refused "services.qwen3090.stateDir" { stateDir = "var/lib/qwen3090"; };
    power = refused "services.qwen3090.powerLimitWatts" { powerLimitWatts = "250W"; };
  };

  # Each evaluates, and fails the build of the system with these words: the command line's.
  unbuildable = {
    misspelt-setting = refused "did you mean 'seats'?" { settings.seat = 4; };
    seats-beyond-a-step = refused "do not fit into one step of max_batched_tokens" {
      settings.seats = 512;
    };
    context-beyond-the-model = refused "the model's longest is 262144" { settings.context = 300000; };
    backend = refused "cannot read kv_format = int8" {
      profile = "long";
      settings.attention_backend = "FLASHINFER";
    };
    owned-flag = refused "--max-model-len belongs to the setting context" {
      extraArgs = [ "--max-model-len=4096" ];
    };
    unknown-engine-setting = refused "engine.comand" { settings.engine.comand = [ "x" ]; };
  };
}
