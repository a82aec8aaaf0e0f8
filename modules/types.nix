# Types that nixpkgs' lib does not have. A path is text here, never a Nix path literal: a literal
# would be copied into the world-readable store.
{ lib }:
{
  # Without the characters that systemd's unit files treat specially, so that it needs no escaping.
  absolutePath = lib.types.strMatching "/[^[:space:]\"'\\:%$]*" // {
    description = "absolute path (as text, without spaces, quotes, colons, % and $)";
    descriptionClass = "composite";
  };

  # What CUDA_VISIBLE_DEVICES and nvidia-smi both understand.
  gpuId = lib.types.strMatching "(GPU|MIG)-[0-9a-fA-F-]+" // {
    description = "UUID as nvidia-smi -L prints it (GPU-...)";
    descriptionClass = "composite";
  };
}
