# overlays.default: the packages under pkgs.qwen3090Packages, and the command as pkgs.qwen3090.
final: _: {
  qwen3090Packages = removeAttrs (import ./packages.nix { pkgs = final; }) [ "default" ];
  inherit (final.qwen3090Packages) qwen3090;
}
