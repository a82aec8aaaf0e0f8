# An OCI image of the same closure, streamed instead of stored (it is 8 GB): load it with
# `nix run .#container | docker load`. The host's driver comes in through NVIDIA's container toolkit.
# The CUDA libraries inside are NVIDIA's: its licence lets you run them and pass them on as a part of
# an application, not publish them alone; read it before you push the image to a registry.
{
  dockerTools,
  coreutils,
  bash,
  qwen3090,
}:
dockerTools.streamLayeredImage {
  name = "qwen3090";
  tag = "latest";
  contents = [
    qwen3090
    bash
    coreutils
    dockerTools.caCertificates
    dockerTools.fakeNss
  ];
  extraCommands = "mkdir -m 1777 tmp"; # Python and the compilers write there
  config = {
    Entrypoint = [
      "${qwen3090}/bin/qwen3090"
      "up"
    ];
    Cmd = [
      "fast"
      "--yes"
    ];
    Env = [
      "HOME=/var/cache/qwen3090"
      "XDG_CACHE_HOME=/var/cache"
      "QWEN3090_STATE=/var/lib/qwen3090"
      # Reachable from outside the container needs a key: serve refuses without the file.
      "QWEN3090_HOST=0.0.0.0"
      "QWEN3090_API_KEY_FILE=/run/secrets/qwen3090-api-key"
      "NVIDIA_VISIBLE_DEVICES=all"
      "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
      "SSL_CERT_FILE=/etc/ssl/certs/ca-bundle.crt"
    ];
    ExposedPorts."18020/tcp" = { };
    Volumes = {
      "/var/lib/qwen3090" = { };
      "/var/cache/qwen3090" = { };
    };
    Healthcheck = {
      Test = [
        "CMD"
        "${qwen3090.env}/bin/python"
        "-c"
        "import urllib.request as r; r.urlopen('http://127.0.0.1:18020/health', timeout=5)"
      ];
      Interval = 30 * 1000000000;
      Timeout = 10 * 1000000000;
      # Fetching 20 GB and preparing them come before the first answer.
      StartPeriod = 7200 * 1000000000;
      Retries = 3;
    };
  };
}
