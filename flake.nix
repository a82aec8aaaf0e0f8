# The flake's face: one input, every output a small file under nix/.
{
  description = "Qwen3.8-27B on one RTX 3090: vLLM with a patch series, model preparation, NixOS service";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }: import ./nix { inherit self nixpkgs; };
}
