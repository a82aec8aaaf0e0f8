# What the server needs of the host, and the server. Everything else is in hardware-configuration.nix
# and your own modules.
{
  nixpkgs.config.allowUnfree = true; # the NVIDIA driver
  hardware.graphics.enable = true;
  hardware.nvidia.open = true; # the driver's open kernel module; it knows the RTX 3090
  services.xserver.videoDrivers = [ "nvidia" ]; # loads the driver, with or without a desktop

  services.qwen3090 = {
    enable = true;
    profile = "fast";
    # For other machines: host = "0.0.0.0"; openFirewall = true; apiKeyFile = "/run/secrets/key";
  };
  system.stateVersion = "26.05";
}
