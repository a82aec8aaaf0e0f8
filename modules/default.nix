# services.qwen3090: what the module is made of. Each file holds one concern, options and all.
# The package's default is set by nix/nixos-module.nix, which knows the flake.
{
  imports = [
    ./options.nix
    ./settings.nix
    ./config-file.nix
    ./directories.nix
    ./model.nix
    ./device.nix
    ./power-limit.nix
    ./service.nix
    ./resume.nix
    ./firewall.nix
    ./open-webui.nix
    ./assertions.nix
  ];
}
