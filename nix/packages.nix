# The packages that the flake shows; scope.nix makes them.
{ pkgs }:
let
  scope = import ./scope.nix { inherit pkgs; };
in
{
  default = scope.qwen3090;
  inherit (scope)
    qwen3090
    qwen3090-cpu
    qwen3090-cli
    python-env
    vllm
    ops
    cuda-home
    flashinfer-kernels
    model
    model-prepared
    model-prepared-base
    container
    ;
}
